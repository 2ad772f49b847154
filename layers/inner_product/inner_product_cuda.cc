// InnerProduct on a GPU: cuBLAS computes the product, then one kernel applies bias and ReLU. To
// initialise the top with the bias and add the product would move as much memory, and could not
// apply ReLU.
//
// If the tops are stored in 16 bits, the bottom is too, and the weights are rounded to 16 bits in
// each pass. The weights' gradient is in single precision, like the weights themselves.
#include "core/math/cublas.h"
#include "core/math/tensor_ops.h"
#include "layers/common/chain.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/common/tail_cuda.h"
#include "layers/inner_product/inner_product_form.h"

namespace doppio {
namespace {

class CudaInnerProduct : public Kernel {
 public:
  explicit CudaInnerProduct(const KernelArgs& args)
      : device_(args.device),
        type_(args.tops[0]),
        tail_(args.chain),
        f_(args.Form<InnerProductForm>()) {
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
    if (args.backward && f_.bias) needs_.scratch_bytes = ChannelSumsBytes(f_.rows, f_.outputs, 1);
  }

  void Forward(const Pass&) override {
    if (round_ != nullptr) round_->Run(t_.params[0].raw, t_.saved);
    void* y = t_.tops[0].raw;
    GpuGemm(device_, {false, !f_.transpose, f_.rows, f_.outputs, f_.inputs},
            GemmFactor(t_.bottoms[0].raw, type_, f_.inputs), Weights(), 0, Rows(y));
    GpuTail tail;
    tail.channels = f_.outputs;
    if (f_.bias) tail.bias = t_.params[1].data<float>();
    tail.relu = tail_.relu.has_value();
    if (tail_.relu) tail.slope = tail_.relu->slope;
    LaunchTail(GpuOf(device_), tail, f_.rows, type_, y);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const Gpu gpu = GpuOf(device_);
    const GemmMatrix x = GemmFactor(t_.bottoms[0].raw, type_, f_.inputs);
    const GemmMatrix dy = Rows(t_.top_grads[0].raw);
    const bool sum = f_.bias && t_.param_grads[1];
    float* const bias_grad = sum ? t_.param_grads[1].data<float>() : nullptr;
    if (sum && tail_.relu) {
      LaunchMaskedChannelSums(gpu, tail_.relu->slope, f_.rows, f_.outputs, 1, type_, t_.tops[0].raw,
                              dy.data, add[1], bias_grad, t_.scratch);
    } else if (sum) {
      LaunchChannelSums(gpu, f_.rows, f_.outputs, 1, type_, dy.data, add[1], bias_grad, t_.scratch);
    } else if (tail_.relu) {
      LaunchReluMask(gpu, tail_.relu->slope, type_, f_.rows * f_.outputs, t_.tops[0].raw, dy.data);
    }
    if (float* to = t_.param_grads[0].data<float>()) {
      const float beta = add[0] ? 1 : 0;
      const GemmMatrix dw{to, DType::kFloat32, f_.transpose ? f_.outputs : f_.inputs};
      if (f_.transpose) {
        GpuGemm(device_, {true, false, f_.inputs, f_.outputs, f_.rows}, x, dy, beta, dw);
      } else {
        GpuGemm(device_, {true, false, f_.outputs, f_.inputs, f_.rows}, dy, x, beta, dw);
      }
    }
    if (t_.bottom_grads[0]) {
      GpuGemm(device_, {false, f_.transpose, f_.rows, f_.inputs, f_.outputs}, dy, Weights(), 0,
              {t_.bottom_grads[0].raw, type_, f_.inputs});
    }
  }

  bool same_every_pass() const override { return true; }

 private:
  // Returns the top, or its gradient, as a matrix.
  GemmMatrix Rows(void* y) const { return {y, type_, f_.outputs}; }
  // Returns the weights in the type of the top.
  GemmMatrix Weights() const {
    return GemmFactor(round_ != nullptr ? t_.saved : t_.params[0].raw, type_,
                      f_.transpose ? f_.outputs : f_.inputs);
  }

  Device* const device_;
  const DType type_;
  const ChainTail tail_;
  const InnerProductForm f_;
  std::unique_ptr<Converter> round_;
};

std::string InnerProductCudaDeclines(const KernelArgs& args) {
  const std::string why = DeclinesDouble(args);
  return why.empty() && args.bottoms[0].shape.count() == 0 ? "the bottom is empty" : why;
}

DOPPIO_REGISTER_KERNEL(NarrowCudaKernel<CudaInnerProduct>("InnerProduct",
                                                          &InnerProductCudaDeclines));
DOPPIO_REGISTER_KERNEL(NarrowCudaKernel<CudaInnerProduct>("InnerProduct+ReLU",
                                                          &InnerProductCudaDeclines));

}  // namespace
}  // namespace doppio
