// InnerProduct on a GPU: cuBLAS computes the product, then one kernel applies bias and ReLU. To
// initialise the top with the bias and add the product would move as much memory, and could not
// apply ReLU.
//
// If the tops are stored in 16 bits, the bottom is too, and the weights are rounded to 16 bits in
// each pass. The weights' gradient is in single precision, like the weights themselves.
#include "core/math/cublas.h"
#include "core/math/tensor_ops.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/elementwise/chain.h"
#include "layers/elementwise/tail_cuda.h"
#include "layers/inner_product/inner_product_form.h"

namespace doppio {
namespace {

class CudaInnerProduct : public FormKernel<InnerProductForm> {
 public:
  explicit CudaInnerProduct(const KernelArgs& args)
      : FormKernel(args), type_(args.tops[0]), tail_(args.chain) {
    const TensorSpec& bottom = args.bottoms[0];
    needs_.types = {type_};
    // If each channel has one pixel, all layouts have the same memory order.
    if (bottom.shape.rank() > 2 && bottom.shape.count(2) == 1) needs_.bottoms = {bottom.layout};
    if (type_ != DType::kFloat32) {
      const TensorSpec weights{args.param_shapes[0], DType::kFloat32, Layout()};
      TensorSpec rounded = weights;
      rounded.dtype = type_;
      round_ = OpsOf(device_).Convert(weights, rounded);
      needs_.saved_bytes = rounded.bytes();
    }
    if (args.backward && form_.bias)
      needs_.scratch_bytes = ChannelSumsBytes(form_.rows, form_.outputs, 1);
  }

  void Forward(const Pass&) override {
    if (round_ != nullptr) round_->Run(t_.params[0].raw, t_.saved);
    void* y = t_.tops[0].raw;
    GpuGemm(device_, {false, !form_.transpose, form_.rows, form_.outputs, form_.inputs},
            GemmFactor(t_.bottoms[0].raw, type_, form_.inputs), Weights(), 0, Rows(y));
    GpuTail tail;
    tail.channels = form_.outputs;
    if (form_.bias) tail.bias = ParamValues<float>(1);
    tail.relu = tail_.relu.has_value();
    if (tail_.relu) tail.slope = tail_.relu->slope;
    LaunchTail(GpuOf(device_), tail, form_.rows, type_, y);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const Gpu gpu = GpuOf(device_);
    const GemmMatrix x = GemmFactor(t_.bottoms[0].raw, type_, form_.inputs);
    const GemmMatrix dy = Rows(t_.top_grads[0].raw);
    const bool sum = form_.bias && t_.param_grads[1];
    float* const bias_grad = sum ? ParamGradient<float>(1) : nullptr;
    if (sum && tail_.relu) {
      LaunchMaskedChannelSums(gpu, tail_.relu->slope, form_.rows, form_.outputs, 1, type_,
                              t_.tops[0].raw, dy.data, add[1], bias_grad, t_.scratch);
    } else if (sum) {
      LaunchChannelSums(gpu, form_.rows, form_.outputs, 1, type_, dy.data, add[1], bias_grad,
                        t_.scratch);
    } else if (tail_.relu) {
      LaunchReluMask(gpu, tail_.relu->slope, type_, form_.rows * form_.outputs, t_.tops[0].raw,
                     dy.data);
    }
    if (float* to = ParamGradient<float>(0)) {
      const float beta = add[0] ? 1 : 0;
      const GemmMatrix dw{to, DType::kFloat32, form_.transpose ? form_.outputs : form_.inputs};
      if (form_.transpose) {
        GpuGemm(device_, {true, false, form_.inputs, form_.outputs, form_.rows}, x, dy, beta, dw);
      } else {
        GpuGemm(device_, {true, false, form_.outputs, form_.inputs, form_.rows}, dy, x, beta, dw);
      }
    }
    if (t_.bottom_grads[0]) {
      GpuGemm(device_, {false, form_.transpose, form_.rows, form_.inputs, form_.outputs}, dy,
              Weights(), 0, {t_.bottom_grads[0].raw, type_, form_.inputs});
    }
  }

  bool same_every_pass() const override { return true; }

 private:
  // Returns the top, or its gradient, as a matrix.
  GemmMatrix Rows(void* y) const { return {y, type_, form_.outputs}; }
  // Returns the weights in the type of the top.
  GemmMatrix Weights() const {
    return GemmFactor(round_ != nullptr ? t_.saved : t_.params[0].raw, type_,
                      form_.transpose ? form_.outputs : form_.inputs);
  }

  const DType type_;
  const ChainTail tail_;
  std::unique_ptr<Converter> round_;
};

std::string InnerProductCudaDeclines(const KernelArgs& args) {
  const std::string why = DeclinesDouble(args);
  return why.empty() && args.bottoms[0].shape.count() == 0 ? "the bottom is empty" : why;
}

DOPPIO_REGISTER_KERNEL(
    CudaKernel<CudaInnerProduct>("InnerProduct").Declines(&InnerProductCudaDeclines).Narrow());
DOPPIO_REGISTER_KERNEL(
    CudaKernel<CudaInnerProduct>("InnerProduct+ReLU").Declines(&InnerProductCudaDeclines).Narrow());

}  // namespace
}  // namespace doppio
