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
    ParallelFor(n, 256, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i);
    });
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_HOST_LOOPS_H_
