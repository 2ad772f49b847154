// Silence: reads blobs so that they are not outputs of the net. It has no tops and therefore no
// backward pass.
#include "core/net/contract/layer.h"
#include "layers/common/accelerator_kernel.h"

namespace doppio {
namespace {

LayerShape InferSilence(const LayerSpec&, const std::vector<Shape>&) {
  LayerShape shape;
  shape.has_backward = false;
  return shape;
}

// Accepts its bottoms in any layout and type, so that the plan does not copy them. Used on all
// devices.
class SilenceKernel : public Kernel {
 public:
  explicit SilenceKernel(const KernelArgs& args) {
    for (const TensorSpec& bottom : args.bottoms) needs_.bottoms.push_back(bottom.layout);
  }
  void Forward(const Pass&) override {}
  bool same_every_pass() const override { return true; }
};

DOPPIO_REGISTER_LAYER(
    "Silence", LayerType(&InferSilence).Bottoms(1, kAny).Tops(0).KeepsCoordinates().RowByRow());
DOPPIO_REGISTER_KERNEL(ReferenceKernel("Silence", &MakeKernel<SilenceKernel>));
DOPPIO_REGISTER_KERNEL(AcceleratorKernel<SilenceKernel>("Silence").Declines(nullptr).Narrow());

}  // namespace
}  // namespace doppio
