// Loops of a kernel whose math is written once for every device, as functions of an index: those of
// the CPU. A GPU's are beside the .cu file that compiles the functions.
#ifndef DOPPIO_LAYERS_COMMON_HOST_LOOPS_H_
#define DOPPIO_LAYERS_COMMON_HOST_LOOPS_H_

#include "core/base/threads.h"
#include "core/device/device.h"

namespace doppio {

struct HostLoops {
  explicit HostLoops(Device*) {}
  // body(i) for i in [0, n).
  template <class F>
  void Run(int64_t n, const F& body) const {
    ParallelFor(n, 256, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i);
    });
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_HOST_LOOPS_H_
