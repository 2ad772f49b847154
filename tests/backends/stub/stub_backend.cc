// Lists and opens the stub's devices, for --gpu and device_query.
#include "core/base/error.h"
#include "tests/backends/stub/stub_device.h"

namespace doppio {
namespace {

constexpr int kStubs = 2;

std::vector<DeviceInfo> ListStubs() {
  std::vector<DeviceInfo> stubs;
  for (int i = 0; i < kStubs; ++i)
    stubs.push_back({i, "stub " + std::to_string(i), "computes on the host", "", ""});
  return stubs;
}

std::unique_ptr<Device> MakeStub(int index) {
  if (index < 0 || index >= kStubs) {
    throw DeviceError("there is no stub " + std::to_string(index) + "; the last one is " +
                      std::to_string(kStubs - 1));
  }
  return std::make_unique<StubDevice>(index);
}

DOPPIO_REGISTER(DeviceBackends, kStubKind, DeviceBackend{&ListStubs, &MakeStub, nullptr});

}  // namespace
}  // namespace doppio
