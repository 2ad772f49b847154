// Convolution and Deconvolution over any number of spatial axes, with groups and dilation: the
// layer types, and the reference kernel (unfold, then multiply) that the fast kernels are tested
// against. The forward pass of a Deconvolution is the backward pass of a convolution from its top
// to its bottom, and its backward pass is the forward pass of that convolution.
#include "core/base/threads.h"
#include "core/math/blas.h"
#include "core/net/contract/layer.h"
#include "layers/convolution/conv_geometry.h"
#include "layers/convolution/im2col.h"

namespace doppio {
namespace {

LayerShape InferConvolution(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const ConvGeometry g = ReadConvGeometry(spec, bottoms[0]);
  LayerShape shape;
  shape.form = g;
  for (size_t i = 0; i < bottoms.size(); ++i) {
    spec.RefuseIf(bottoms[i] != bottoms[0], {"bottom", static_cast<int>(i)},
                  "all bottoms of one layer of this type must have one shape; found ",
                  bottoms[i].ToString(), " after ", bottoms[0].ToString());
    Shape top(std::vector<int64_t>(bottoms[0].dims().begin(), bottoms[0].dims().begin() + g.axis));
    top.push_back(g.top_channels());
    for (int64_t extent : g.top_extents()) top.push_back(extent);
    shape.tops.push_back(top);
  }
  Shape weights{g.out_channels, g.in_channels / g.group};
  for (int64_t extent : g.kernel) weights.push_back(extent);
  const ConvolutionParameter& p = spec.param.convolution_param();
  shape.params.push_back({weights, p.weight_filler()});
  if (p.weight_filler().type() == "dirac") shape.params[0].filler.set_groups(g.group);
  if (g.transposed && g.out_channels > g.group && p.weight_filler().type() == "bilinear") {
    const std::string channels = std::to_string(g.out_channels);
    shape.warnings.push_back(
        {spec.At("convolution_param.weight_filler"),
         "layer '" + spec.name() + "': with group: " + std::to_string(g.group) +
             ", bilinear weights add up channels of the bottom; to enlarge each channel by itself, "
             "set num_output: " +
             channels + " and group: " + channels});
  }
  if (g.bias) shape.params.push_back({Shape{g.top_channels()}, p.bias_filler()});
  shape.backward_reads_tops = false;
  std::vector<int64_t> factors = weights.dims();
  factors.insert(factors.end(), g.output.begin(), g.output.end());
  factors.insert(factors.end(), {g.batch, static_cast<int64_t>(bottoms.size())});
  shape.macs = Macs(factors);
  return shape;
}

// The reference kernel. x is the side that the windows slide over; y is the side with one element
// per window.
template <class T>
class ConvolutionKernel : public Kernel {
 public:
  explicit ConvolutionKernel(const KernelArgs& args)
      : g_(args.Form<ConvGeometry>()), unfolding_(g_, g_.in_channels / g_.group) {
    needs_.scratch_bytes = unfolding_.rows() * unfolding_.columns() * kBytesOf<T>;
  }

  void Forward(const Pass&) override {
    for (size_t i = 0; i < t_.bottoms.size(); ++i) {
      for (int64_t n = 0; n < g_.batch; ++n) {
        T* top = Image(t_.tops[i], n);
        if (g_.transposed) {
          MultiplyBack(Image(t_.bottoms[i], n), top);
        } else {
          Multiply(Image(t_.bottoms[i], n), top);
        }
        if (g_.bias) AddBias(top, t_.tops[i].count() / g_.batch);
      }
    }
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    for (size_t p = 0; p < t_.params.size(); ++p) {
      T* gradient = ParamGradient<T>(p);
      if (gradient != nullptr && !add[p])
        std::fill(gradient, gradient + t_.params[p].count(), T(0));
    }
    for (size_t i = 0; i < t_.bottoms.size(); ++i) {
      const bool flows = static_cast<bool>(t_.top_grads[i]);
      for (int64_t n = 0; n < g_.batch; ++n) {
        T* to = t_.bottom_grads[i] ? Image(t_.bottom_grads[i], n) : nullptr;
        if (flows) {
          BackwardImage(Image(t_.bottoms[i], n), Image(t_.top_grads[i], n),
                        t_.tops[i].count() / g_.batch, to);
        } else if (to != nullptr) {
          std::fill(to, to + t_.bottoms[i].count() / g_.batch, T(0));
        }
      }
    }
  }

 private:
  // Returns image n of the batch.
  T* Image(const Tensor& tensor, int64_t n) const {
    return tensor.data<T>() + n * (tensor.count() / g_.batch);
  }
  T* columns() const { return static_cast<T*>(t_.scratch); }
  // Extents of the product for one group: rows of y, terms of each sum, columns of y.
  int64_t outputs() const { return g_.out_channels / g_.group; }
  int64_t inputs() const { return unfolding_.rows(); }
  int64_t pixels() const { return unfolding_.columns(); }
  int64_t x_step() const { return g_.in_channels / g_.group * g_.input_count(); }
  int64_t y_step() const { return outputs() * pixels(); }
  const T* weights(int64_t group) const { return ParamValues<T>(0) + group * outputs() * inputs(); }

  // y = weights * unfolded x, for one image.
  void Multiply(const T* x, T* y) {
    for (int64_t group = 0; group < g_.group; ++group) {
      unfolding_.Unfold(x + group * x_step(), columns());
      Gemm(false, false, outputs(), pixels(), inputs(), T(1), weights(group), columns(), T(0),
           y + group * y_step());
    }
  }

  // x = the folded product of the transposed weights and y, for one image.
  void MultiplyBack(const T* y, T* x) {
    for (int64_t group = 0; group < g_.group; ++group) {
      Gemm(true, false, inputs(), pixels(), outputs(), T(1), weights(group), y + group * y_step(),
           T(0), columns());
      unfolding_.Fold(columns(), x + group * x_step());
    }
  }

  void AddWeightGradient(const T* x, const T* y) {
    for (int64_t group = 0; group < g_.group; ++group) {
      unfolding_.Unfold(x + group * x_step(), columns());
      Gemm(false, true, outputs(), inputs(), pixels(), T(1), y + group * y_step(), columns(), T(1),
           ParamGradient<T>(0) + group * outputs() * inputs());
    }
  }

  void AddBias(T* top, int64_t count) {
    const int64_t plane = count / g_.top_channels();
    for (int64_t c = 0; c < g_.top_channels(); ++c) {
      const T bias = ParamValues<T>(1)[c];
      for (int64_t j = 0; j < plane; ++j) top[c * plane + j] += bias;
    }
  }

  void BackwardImage(const T* bottom, const T* top_grad, int64_t top_count, T* bottom_grad) {
    if (t_.param_grads[0]) {
      AddWeightGradient(g_.transposed ? top_grad : bottom, g_.transposed ? bottom : top_grad);
    }
    if (bottom_grad != nullptr && g_.transposed) Multiply(top_grad, bottom_grad);
    if (bottom_grad != nullptr && !g_.transposed) MultiplyBack(top_grad, bottom_grad);
    if (!g_.bias || !t_.param_grads[1]) return;
    const int64_t plane = top_count / g_.top_channels();
    for (int64_t c = 0; c < g_.top_channels(); ++c) {
      double sum = 0;
      for (int64_t j = 0; j < plane; ++j) sum += top_grad[c * plane + j];
      ParamGradient<T>(1)[c] += static_cast<T>(sum);
    }
  }

  const ConvGeometry g_;
  const Unfolding unfolding_;
};

LayerType ConvolutionType() {
  return LayerType(&InferConvolution)
      .Bottoms(1, kAny)
      .Tops(1, kAny)
      .SameCount()
      .Reads({"convolution_param"})
      .AcceptsRelu("convolution_param")
      .Params({"weight", "bias"}, [](const LayerParameter& layer) {
        return 1 + layer.convolution_param().bias_term();
      });
}

bool RegisterConvolution(const std::string& name, const LayerType& type) {
  KernelTypes::Get().Add(ReferenceKernel<ConvolutionKernel>(name));
  return LayerTypes::Get().Add(name, type);
}

[[maybe_unused]] const bool convolution_registered = [] {
  const auto axis = [](const LayerParameter& layer) { return layer.convolution_param().axis(); };
  for (const char* name : kConvolutionTypes)
    RegisterConvolution(name, ConvolutionType().RowByRow(axis));
  return RegisterConvolution("Deconvolution", ConvolutionType());
}();

}  // namespace
}  // namespace doppio
