// Updates the parameters of a stub, by the CPU's pass over the memory behind it. A real backend
// writes its own pass over the rules (solvers/update/rules.h), as solvers/update/apply.cu does.
#include "solvers/update/apply.h"
#include "tests/backends/stub/stub_device.h"

namespace doppio {
namespace {

std::unique_ptr<UpdatePass> MakeStubPass(Device* device, UpdateArenas arenas, size_t rule) {
  arenas.values = OnHost(arenas.values);
  arenas.grads = OnHost(arenas.grads);
  for (void*& slot : arenas.history) slot = OnHost(slot);
  return (*UpdatePasses::Get().Find(DeviceKind::kCpu))(HostBehind(device), std::move(arenas), rule);
}

DOPPIO_REGISTER(UpdatePasses, kStubKind, &MakeStubPass);

}  // namespace
}  // namespace doppio
