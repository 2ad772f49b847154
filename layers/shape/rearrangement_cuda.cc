// Permute, Crop, Reorg and ShuffleChannel on a GPU, for elements of any type.
#include "layers/shape/rearrangement_cuda.h"

#include "layers/shape/rearrangement.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaRearrangement : public Kernel {
 public:
  explicit CudaRearrangement(const KernelArgs& args)
      : device_(args.device),
        box_(FindRearrangement(args).box),
        element_bytes_(ElementBytes(args.tops[0])) {
    needs_.types.push_back(args.tops[0]);
    // Of the others only the shape is wanted.
    for (size_t i = 1; i < args.bottoms.size(); ++i) needs_.types.push_back(args.bottoms[i].dtype);
    needs_.bottoms.push_back(Layout());
    for (size_t i = 1; i < args.bottoms.size(); ++i)
      needs_.bottoms.push_back(args.bottoms[i].layout);
  }

  void Forward(const Pass&) override {
    LaunchBoxToTop(GpuOf(device_), box_, element_bytes_, t_.bottoms[0].raw, t_.tops[0].raw);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    if (box_.count() != dx.count()) device_->Zero(dx.raw, dx.bytes());
    LaunchBoxToBottom(GpuOf(device_), box_, element_bytes_, t_.top_grads[0].raw, dx.raw);
  }

  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaRearrangement>(args);
  }

 private:
  Device* const device_;
  const StridedBox box_;
  const int64_t element_bytes_;
};

std::string RearrangementCudaDeclines(const KernelArgs& args) {
  const bool fits = FindRearrangement(args).box.axes.size() <= kMostBoxAxes;
  return fits ? DeclinesDouble(args) : "it takes at most " + std::to_string(kMostBoxAxes) + " axes";
}

bool RegisterAllRearrangementCuda() {
  for (const RearrangingLayer& layer : kRearrangingLayers) {
    KernelTypes::Get().Add({layer.type, DeviceKind::kCuda, "cuda", 10, &CudaRearrangement::Make,
                            &RearrangementCudaDeclines, true});
  }
  return true;
}
[[maybe_unused]] const bool rearrangement_cuda_registered = RegisterAllRearrangementCuda();

}  // namespace
}  // namespace doppio
