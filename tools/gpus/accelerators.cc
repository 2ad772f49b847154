#include "tools/gpus/accelerators.h"

#include "core/base/error.h"

namespace doppio {

Accelerators FindAccelerators() {
  Accelerators found;
  const DeviceBackend* backend = FindDeviceBackend();
  if (backend == nullptr) {
    found.none = "this build has no GPU support: no CUDA was found when it was built";
    return found;
  }
  ErrorCollector errors;
  errors.Try([&] { found.devices = backend->list(); });
  if (!errors.empty()) {
    found.none = errors.errors()[0].message();
  }
  return found;
}

}  // namespace doppio
