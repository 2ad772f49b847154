// The sums that Reduction forms, for device code too: a factor times the sum of f(x) over a row.
#ifndef DOPPIO_LAYERS_SHAPE_REDUCTION_OPS_H_
#define DOPPIO_LAYERS_SHAPE_REDUCTION_OPS_H_

#include <cstdint>

#include "core/base/host_device.h"

namespace doppio {

enum class ReductionTerm { kValue, kMagnitude, kSquare };

template <class T>
DOPPIO_HD T TermOf(ReductionTerm term, T x) {
  if (term == ReductionTerm::kMagnitude) return x < 0 ? -x : x;
  return term == ReductionTerm::kSquare ? x * x : x;
}

// Its derivative; 0 where a magnitude has none.
template <class T>
DOPPIO_HD T SlopeOf(ReductionTerm term, T x) {
  if (term == ReductionTerm::kMagnitude) return x > 0 ? T(1) : x < 0 ? T(-1) : T(0);
  return term == ReductionTerm::kSquare ? 2 * x : T(1);
}

struct ReductionRows {
  ReductionTerm term = ReductionTerm::kValue;
  int64_t rows = 1, columns = 1;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_REDUCTION_OPS_H_
