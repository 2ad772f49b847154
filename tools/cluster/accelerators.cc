#include "tools/cluster/accelerators.h"

#include "core/base/error.h"

namespace doppio {

Accelerators FindAccelerators() {
  Accelerators found;
  const DeviceBackend* cuda = DeviceBackends::Get().Find("CUDA");
  if (cuda == nullptr) {
    found.none = "this build has no GPU support: no CUDA was found when it was built";
    return found;
  }
  ErrorCollector errors;
  errors.Try([&] { found.devices = cuda->list(); });
  if (!errors.empty()) {
    found.none = errors.errors()[0].message();
  }
  return found;
}

}  // namespace doppio
