// The CPU's loops for kernels whose math is written once for all devices, as functions of an index.
// The GPU's loops are beside the .cu file that compiles the functions.
#ifndef DOPPIO_LAYERS_COMMON_HOST_LOOPS_H_
#define DOPPIO_LAYERS_COMMON_HOST_LOOPS_H_

#include "core/base/threads.h"
#include "core/device/device.h"

namespace doppio {

struct HostLoops {
  explicit HostLoops(Device*) {}
  // Calls body(i) for every i in [0, n), in parallel.
  template <class F>
  void Run(int64_t n, const F& body) const {
    ParallelForEach(n, 256, [&](int64_t i) { body(i); });
  }
};

// Calls f(row, begin, end) for each of `rows` contiguous rows, which has the elements [begin, end)
// with end - begin == length, in parallel.
template <class F>
void ForEachRow(int64_t rows, int64_t length, const F& f) {
  ParallelFor(rows, 1 + 8192 / (length + 1), [=](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) f(row, row * length, (row + 1) * length);
  });
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_HOST_LOOPS_H_
