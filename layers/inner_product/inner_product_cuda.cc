// InnerProduct on a GPU: one product by cuBLAS, then bias and ReLU in one pass. Starting the
// product from tops that hold the bias moves as much memory and leaves no place for ReLU.
//
// Where tops are stored in 16 bits, so are the bottom and, rounded anew in each pass, the weights;
// the weights' gradient is in single precision like the weights themselves.
#include "core/math/cublas.h"
#include "core/math/tensor_ops.h"
#include "layers/common/chain.h"
#include "layers/common/tail_cuda.h"

namespace doppio {
namespace {

class CudaInnerProduct : public Kernel {
 public:
  explicit CudaInnerProduct(const KernelArgs& args)
      : device_(args.device),
        type_(args.tops[0]),
        tail_(args.chain),
        transpose_(args.spec->param.inner_product_param().transpose()),
        bias_(args.spec->param.inner_product_param().bias_term()),
        outputs_(args.spec->param.inner_product_param().num_output()),
        inputs_(args.shape->params[0].shape.count() / outputs_),
        rows_(args.shape->tops[0].count() / outputs_) {
    const TensorSpec& bottom = args.bottoms[0];
    needs_.types = {type_};
    // Rows of single pixels are the same in any order.
    if (bottom.shape.rank() > 2 && bottom.shape.count(2) == 1) needs_.bottoms = {bottom.layout};
    if (type_ != DType::kFloat32) {
      const TensorSpec weights{args.shape->params[0].shape, DType::kFloat32, Layout()};
      TensorSpec rounded = weights;
      rounded.dtype = type_;
      round_ = OpsOf(device_).Convert(weights, rounded);
      needs_.saved_bytes = rounded.bytes();
    }
    if (args.backward && bias_) needs_.scratch_bytes = ChannelSumsBytes(rows_, outputs_, 1);
  }

  void Forward(const Pass&) override {
    if (round_ != nullptr) round_->Run(t_.params[0].raw, t_.saved);
    void* y = t_.tops[0].raw;
    GpuGemm(device_, {false, !transpose_, rows_, outputs_, inputs_},
            GemmFactor(t_.bottoms[0].raw, type_, inputs_), Weights(), 0, Rows(y));
    GpuTail tail;
    tail.channels = outputs_;
    if (bias_) tail.bias = t_.params[1].data<float>();
    tail.relu = tail_.relu.has_value();
    if (tail_.relu) tail.slope = tail_.relu->slope;
    LaunchTail(GpuOf(device_), tail, rows_, type_, y);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const Gpu gpu = GpuOf(device_);
    const GemmMatrix x = GemmFactor(t_.bottoms[0].raw, type_, inputs_);
    const GemmMatrix dy = Rows(t_.top_grads[0].raw);
    const bool sum = bias_ && t_.param_grads[1];
    float* const bias_grad = sum ? t_.param_grads[1].data<float>() : nullptr;
    if (sum && tail_.relu) {
      LaunchMaskedChannelSums(gpu, tail_.relu->slope, rows_, outputs_, 1, type_, t_.tops[0].raw,
                              dy.data, add[1], bias_grad, t_.scratch);
    } else if (sum) {
      LaunchChannelSums(gpu, rows_, outputs_, 1, type_, dy.data, add[1], bias_grad, t_.scratch);
    } else if (tail_.relu) {
      LaunchReluMask(gpu, tail_.relu->slope, type_, rows_ * outputs_, t_.tops[0].raw, dy.data);
    }
    if (float* to = t_.param_grads[0].data<float>()) {
      const float beta = add[0] ? 1 : 0;
      const GemmMatrix dw{to, DType::kFloat32, transpose_ ? outputs_ : inputs_};
      if (transpose_) {
        GpuGemm(device_, {true, false, inputs_, outputs_, rows_}, x, dy, beta, dw);
      } else {
        GpuGemm(device_, {true, false, outputs_, inputs_, rows_}, dy, x, beta, dw);
      }
    }
    if (t_.bottom_grads[0]) {
      GpuGemm(device_, {false, transpose_, rows_, inputs_, outputs_}, dy, Weights(), 0,
              {t_.bottom_grads[0].raw, type_, inputs_});
    }
  }

  bool same_every_pass() const override { return true; }

 private:
  GemmMatrix Rows(void* y) const { return {y, type_, outputs_}; }
  GemmMatrix Weights() const {
    return GemmFactor(round_ != nullptr ? t_.saved : t_.params[0].raw, type_,
                      transpose_ ? outputs_ : inputs_);
  }

  Device* const device_;
  const DType type_;
  const ChainTail tail_;
  const bool transpose_, bias_;
  const int64_t outputs_, inputs_, rows_;
  std::unique_ptr<Converter> round_;
};

std::string InnerProductCudaDeclines(const KernelArgs& args) {
  if (args.dtype != DType::kFloat32) return std::string("it has no ") + Name(args.dtype);
  return args.bottoms[0].shape.count() == 0 ? "the bottom is empty" : "";
}

std::unique_ptr<Kernel> MakeInnerProductCuda(const KernelArgs& args) {
  return std::make_unique<CudaInnerProduct>(args);
}

DOPPIO_REGISTER_KERNEL({"InnerProduct", DeviceKind::kCuda, "cuda", 10, &MakeInnerProductCuda,
                        &InnerProductCudaDeclines, true});
DOPPIO_REGISTER_KERNEL({"InnerProduct+ReLU", DeviceKind::kCuda, "cuda", 10, &MakeInnerProductCuda,
                        &InnerProductCudaDeclines, true});

}  // namespace
}  // namespace doppio
