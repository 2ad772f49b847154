// InnerProduct on a GPU: one product by cuBLAS, then bias and ReLU in one pass. Starting the
// product from tops that hold the bias moves as much memory and leaves no place for ReLU.
#include "core/math/cublas.h"
#include "layers/chain.h"
#include "layers/tail_cuda.h"

namespace doppio {
namespace {

class CudaInnerProduct : public Kernel {
 public:
  explicit CudaInnerProduct(const KernelArgs& args)
      : device_(args.device),
        tail_(args.chain),
        transpose_(args.spec->param.inner_product_param().transpose()),
        bias_(args.spec->param.inner_product_param().bias_term()),
        outputs_(args.spec->param.inner_product_param().num_output()),
        inputs_(args.shape->params[0].shape.count() / outputs_),
        rows_(args.shape->tops[0].count() / outputs_) {
    if (args.backward && bias_) needs_.scratch_bytes = ChannelSumsBytes(rows_, outputs_, 1);
  }

  void Forward(const Pass&) override {
    float* y = t_.tops[0].data<float>();
    GpuGemm(device_, false, !transpose_, rows_, outputs_, inputs_, 1, t_.bottoms[0].data<float>(),
            t_.params[0].data<float>(), 0, y);
    GpuTail tail;
    tail.channels = outputs_;
    if (bias_) tail.bias = t_.params[1].data<float>();
    tail.relu = tail_.relu.has_value();
    if (tail_.relu) tail.slope = tail_.relu->slope;
    LaunchTail(GpuOf(device_), tail, rows_, y);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const Gpu gpu = GpuOf(device_);
    const float* x = t_.bottoms[0].data<float>();
    float* dy = t_.top_grads[0].data<float>();
    if (tail_.relu) {
      LaunchReluMask(gpu, tail_.relu->slope, rows_ * outputs_, t_.tops[0].data<float>(), dy);
    }
    if (float* dw = t_.param_grads[0].data<float>()) {
      const float beta = add[0] ? 1 : 0;
      if (transpose_) {
        GpuGemm(device_, true, false, inputs_, outputs_, rows_, 1, x, dy, beta, dw);
      } else {
        GpuGemm(device_, true, false, outputs_, inputs_, rows_, 1, dy, x, beta, dw);
      }
    }
    if (bias_ && t_.param_grads[1]) {
      LaunchChannelSums(gpu, rows_, outputs_, 1, dy, add[1], t_.param_grads[1].data<float>(),
                        t_.scratch);
    }
    if (t_.bottom_grads[0]) {
      GpuGemm(device_, false, transpose_, rows_, inputs_, outputs_, 1, dy,
              t_.params[0].data<float>(), 0, t_.bottom_grads[0].data<float>());
    }
  }

 private:
  Device* const device_;
  const ChainTail tail_;
  const bool transpose_, bias_;
  const int64_t outputs_, inputs_, rows_;
};

std::string Declines(const KernelArgs& args) {
  if (args.dtype != DType::kFloat32) return std::string("it has no ") + Name(args.dtype);
  return args.bottoms[0].shape.count() == 0 ? "the bottom is empty" : "";
}

std::unique_ptr<Kernel> Make(const KernelArgs& args) {
  return std::make_unique<CudaInnerProduct>(args);
}

DOPPIO_REGISTER_KERNEL({"InnerProduct", DeviceKind::kCuda, "cuda", 10, &Make, &Declines});
DOPPIO_REGISTER_KERNEL({"InnerProduct+ReLU", DeviceKind::kCuda, "cuda", 10, &Make, &Declines});

}  // namespace
}  // namespace doppio
