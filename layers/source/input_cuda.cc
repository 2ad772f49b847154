// Input on a GPU: the memory comes zeroed and is the caller's to write.
#include "core/net/graph/layer.h"

namespace doppio {
namespace {

class CudaInput : public Kernel {
 public:
  void Forward(const Pass&) override {}
};

std::unique_ptr<Kernel> MakeInputCuda(const KernelArgs&) { return std::make_unique<CudaInput>(); }

DOPPIO_REGISTER_KERNEL({"Input", DeviceKind::kCuda, "cuda", 10, &MakeInputCuda, nullptr});

}  // namespace
}  // namespace doppio
