// Silence on a GPU. With this kernel, the plan does not copy the bottoms to the host.
#include "core/net/plan/kernel.h"

namespace doppio {
namespace {

// Accepts its bottoms in any layout.
class CudaSilence : public Kernel {
 public:
  explicit CudaSilence(const KernelArgs& args) {
    for (const TensorSpec& bottom : args.bottoms) needs_.bottoms.push_back(bottom.layout);
  }
  void Forward(const Pass&) override {}
  bool same_every_pass() const override { return true; }
};

std::unique_ptr<Kernel> MakeSilenceCuda(const KernelArgs& args) {
  return std::make_unique<CudaSilence>(args);
}

DOPPIO_REGISTER_KERNEL({"Silence", DeviceKind::kCuda, "cuda", 10, &MakeSilenceCuda, nullptr, true});

}  // namespace
}  // namespace doppio
