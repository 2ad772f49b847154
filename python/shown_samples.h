// What a layer written in Python learns of its samples: their numbers, epoch and records, and
// random numbers for them.
#ifndef DOPPIO_PYTHON_SHOWN_SAMPLES_H_
#define DOPPIO_PYTHON_SHOWN_SAMPLES_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/sample_set.h"
#include "data/pipeline/order.h"

namespace doppio {

class ShownSamples {
 public:
  explicit ShownSamples(uint64_t seed) : seed_(seed) {}

  // Follows the samples of a source. Without one, the epoch is 0, and record i is sample i.
  void Join(const GroupRule& rule);

  // Sets the attribute that `doppio.Layer` reads, for a batch whose first sample is `sample`.
  // Requires the GIL.
  void ShowTo(const pybind11::object& layer, int64_t sample) const;

 private:
  uint64_t seed_;
  std::optional<SampleOrder> order_;
  std::function<int64_t(int64_t)> usable_;  // GroupRule::usable
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_SHOWN_SAMPLES_H_
