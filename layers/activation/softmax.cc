// Softmax: probabilities over one axis.
#include "core/net/contract/layer.h"
#include "layers/activation/softmax_math.h"

namespace doppio {
namespace {

LayerShape InferSoftmax(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  LayerShape shape;
  shape.form = SoftmaxFormOf(spec, bottoms[0]);
  shape.tops = {bottoms[0]};
  shape.backward_reads_bottoms = false;
  shape.in_place_ok = true;
  return shape;
}

template <class T>
class SoftmaxKernel : public Kernel {
 public:
  explicit SoftmaxKernel(const KernelArgs& args) : shape_(args.Form<SoftmaxForm>().shape) {}

  void Forward(const Pass&) override {
    SoftmaxForward(shape_, BottomValues<T>(0), TopValues<T>(0));
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    SoftmaxBackward(shape_, TopValues<T>(0), TopGradient<T>(0), BottomGradient<T>(0));
  }

 private:
  const SoftmaxShape shape_;
};

DOPPIO_REGISTER_LAYER("Softmax", LayerType(&InferSoftmax)
                                     .Bottoms(1)
                                     .Tops(1)
                                     .KeepsCoordinates()
                                     .RowByRow([](const LayerParameter& layer) {
                                       return layer.softmax_param().axis();
                                     }));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<SoftmaxKernel>("Softmax"));

}  // namespace
}  // namespace doppio
