// Convolution over any number of spatial axes, with groups and dilation: what it means, and the
// plain kernel (unfold, then multiply) that the fast ones are tested against.
#include "core/base/threads.h"
#include "core/math/blas.h"
#include "core/net/layer.h"
#include "layers/conv_geometry.h"
#include "layers/im2col.h"

namespace doppio {
namespace {

LayerShape Infer(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const ConvGeometry g = ReadConvGeometry(spec, bottoms[0], false);
  LayerShape shape;
  for (size_t i = 0; i < bottoms.size(); ++i) {
    if (bottoms[i] != bottoms[0]) {
      throw spec.Mistake("bottom",
                         "all bottoms of one convolution must have one shape; found " +
                             bottoms[i].ToString() + " after " + bottoms[0].ToString(),
                         static_cast<int>(i));
    }
    Shape top(std::vector<int64_t>(bottoms[0].dims().begin(), bottoms[0].dims().begin() + g.axis));
    top.push_back(g.out_channels);
    for (int64_t extent : g.output) top.push_back(extent);
    shape.tops.push_back(top);
  }
  Shape weights{g.out_channels, g.in_channels / g.group};
  for (int64_t extent : g.kernel) weights.push_back(extent);
  const ConvolutionParameter& p = spec.param.convolution_param();
  shape.params.push_back({weights, p.weight_filler()});
  if (g.bias) shape.params.push_back({Shape{g.out_channels}, p.bias_filler()});
  shape.backward_reads_tops = false;
  shape.macs = static_cast<int64_t>(bottoms.size()) * g.batch * g.output_count() * weights.count();
  return shape;
}

template <class T>
class ConvolutionKernel : public Kernel {
 public:
  explicit ConvolutionKernel(const KernelArgs& args)
      : g_(ReadConvGeometry(*args.spec, args.bottoms[0].shape, false)),
        unfolding_(g_, g_.in_channels / g_.group, false) {
    needs_.scratch_bytes =
        unfolding_.rows() * unfolding_.columns() * static_cast<int64_t>(sizeof(T));
  }

  void Forward(const Pass&) override {
    for (size_t i = 0; i < t_.bottoms.size(); ++i) {
      for (int64_t n = 0; n < g_.batch; ++n)
        ForwardImage(Image(t_.bottoms[i], n), Image(t_.tops[i], n));
    }
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    for (size_t p = 0; p < t_.params.size(); ++p) {
      T* gradient = t_.param_grads[p].data<T>();
      if (gradient != nullptr && !add[p])
        std::fill(gradient, gradient + t_.params[p].count(), T(0));
    }
    for (size_t i = 0; i < t_.bottoms.size(); ++i) {
      const bool flows = static_cast<bool>(t_.top_grads[i]);
      for (int64_t n = 0; n < g_.batch; ++n) {
        T* dx = t_.bottom_grads[i] ? Image(t_.bottom_grads[i], n) : nullptr;
        if (flows) {
          BackwardImage(Image(t_.bottoms[i], n), Image(t_.top_grads[i], n), dx);
        } else if (dx != nullptr) {
          std::fill(dx, dx + g_.in_channels * g_.input_count(), T(0));
        }
      }
    }
  }

 private:
  T* Image(const Tensor& tensor, int64_t n) const {
    return tensor.data<T>() + n * (tensor.count() / g_.batch);
  }
  T* columns() const { return static_cast<T*>(t_.scratch); }
  int64_t out_per_group() const { return g_.out_channels / g_.group; }
  int64_t image_step() const { return g_.in_channels / g_.group * g_.input_count(); }

  void ForwardImage(const T* x, T* y) {
    const int64_t m = out_per_group(), k = unfolding_.rows(), pixels = unfolding_.columns();
    for (int64_t group = 0; group < g_.group; ++group) {
      unfolding_.Unfold(x + group * image_step(), columns());
      Gemm(false, false, m, pixels, k, T(1), t_.params[0].data<T>() + group * m * k, columns(),
           T(0), y + group * m * pixels);
    }
    if (!g_.bias) return;
    for (int64_t c = 0; c < g_.out_channels; ++c) {
      const T bias = t_.params[1].data<T>()[c];
      for (int64_t j = 0; j < pixels; ++j) y[c * pixels + j] += bias;
    }
  }

  void BackwardImage(const T* x, const T* dy, T* dx) {
    const int64_t m = out_per_group(), k = unfolding_.rows(), pixels = unfolding_.columns();
    for (int64_t group = 0; group < g_.group; ++group) {
      const T* dy_group = dy + group * m * pixels;
      if (t_.param_grads[0]) {
        unfolding_.Unfold(x + group * image_step(), columns());
        Gemm(false, true, m, k, pixels, T(1), dy_group, columns(), T(1),
             t_.param_grads[0].data<T>() + group * m * k);
      }
      if (dx != nullptr) {
        Gemm(true, false, k, pixels, m, T(1), t_.params[0].data<T>() + group * m * k, dy_group,
             T(0), columns());
        unfolding_.Fold(columns(), dx + group * image_step());
      }
    }
    if (!g_.bias || !t_.param_grads[1]) return;
    for (int64_t c = 0; c < g_.out_channels; ++c) {
      double sum = 0;
      for (int64_t j = 0; j < pixels; ++j) sum += dy[c * pixels + j];
      t_.param_grads[1].data<T>()[c] += static_cast<T>(sum);
    }
  }

  const ConvGeometry g_;
  const Unfolding unfolding_;
};

LayerType Type() {
  LayerType type;
  type.min_bottoms = type.min_tops = 1;
  type.same_count = true;
  type.infer = &Infer;
  return type;
}

DOPPIO_REGISTER_LAYER("Convolution", Type());
DOPPIO_REGISTER_KERNEL({"Convolution", DeviceKind::kCpu, "reference", 0,
                        &MakeForFloat<ConvolutionKernel>, nullptr});

}  // namespace
}  // namespace doppio
