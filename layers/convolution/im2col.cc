// Im2col: unfolds the bottom, so that each cell of a window becomes a channel of the top.
#include "layers/convolution/im2col.h"

#include "core/net/contract/layer.h"

namespace doppio {
namespace {

LayerShape InferIm2col(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  // Im2col has no outputs and no groups. Like Caffe, it ignores these fields in the net file.
  LayerSpec windows = spec;
  windows.param.mutable_convolution_param()->set_num_output(1);
  windows.param.mutable_convolution_param()->set_group(1);
  const ConvGeometry g = ReadConvGeometry(windows, bottoms[0]);
  LayerShape shape;
  shape.form = g;
  shape.tops = {bottoms[0]};
  shape.tops[0][g.axis] *= g.kernel_count();
  for (int i = 0; i < g.spatial_rank(); ++i) shape.tops[0][g.axis + 1 + i] = g.output[i];
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  return shape;
}

template <class T>
class Im2colKernel : public Kernel {
 public:
  explicit Im2colKernel(const KernelArgs& args)
      : g_(args.Form<ConvGeometry>()), unfolding_(g_, g_.in_channels) {}

  void Forward(const Pass&) override {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    for (int64_t n = 0; n < g_.batch; ++n) unfolding_.Unfold(x + n * image(), y + n * matrix());
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T* dy = TopGradient<T>(0);
    T* dx = BottomGradient<T>(0);
    for (int64_t n = 0; n < g_.batch; ++n) unfolding_.Fold(dy + n * matrix(), dx + n * image());
  }

 private:
  int64_t image() const { return g_.in_channels * g_.input_count(); }
  int64_t matrix() const { return unfolding_.rows() * unfolding_.columns(); }

  const ConvGeometry g_;
  const Unfolding unfolding_;
};

DOPPIO_REGISTER_LAYER("Im2col",
                      LayerType(&InferIm2col)
                          .Bottoms(1)
                          .Tops(1)
                          .Reads({"convolution_param"})
                          .Ignores({"convolution_param.num_output", "convolution_param.group",
                                    "convolution_param.bias_term", "convolution_param.bias_filler",
                                    "convolution_param.weight_filler"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Im2colKernel>("Im2col"));

}  // namespace
}  // namespace doppio
