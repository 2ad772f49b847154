#include "solvers/update/weight_average.h"

#include <algorithm>

namespace doppio {

void WeightAverage::Begin() {
  if (on() && !begun_) passes_.Average(1, false);
  begun_ = true;
}

void WeightAverage::Add(int64_t update, bool decided) {
  if (!on()) return;
  const double t = static_cast<double>(update + 1);
  passes_.Average(1 - std::min(decay_, (1 + t) / (10 + t)), decided);
}

void WeightAverage::Swap() {
  if (!on()) return;
  passes_.SwapAverage();
  swapped_ = !swapped_;
}

}  // namespace doppio
