// SmoothL1Loss on a GPU, in single precision. Nothing is copied to the host.
#include "core/device/launch.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/loss/normalized_loss.h"
#include "layers/loss/smooth_l1_loss_ops.h"

namespace doppio {
namespace {

constexpr char kName[] = "SmoothL1Loss";

// Writes the sum over `count` elements / divisor to *loss in device memory.
static void SumLosses(const Gpu& gpu, int64_t count, const SmoothL1<float>& terms, double divisor,
                      float* loss, void* scratch) {
  ReduceRows(
      gpu, 1, count, kName, 0.0,
      DOPPIO_BODY(int64_t, int64_t i) { return static_cast<double>(terms.Loss(i)); }, Plus(),
      DOPPIO_BODY(int64_t, double sum) { *loss = static_cast<float>(sum / divisor); }, scratch);
}

// Writes the gradients of both bottoms; dx or dtarget may be null. `weight` points to the loss
// weight in device memory.
static void Differentiate(const Gpu& gpu, int64_t count, const SmoothL1<float>& terms,
                          double divisor, const float* weight, float* dx, float* dtarget) {
  ForEachIndex(
      gpu, count, kName, DOPPIO_BODY(int64_t i) {
        const float scale = static_cast<float>(static_cast<double>(*weight) / divisor);
        const float gradient = scale * terms.Gradient(i);
        if (dx != nullptr) dx[i] = gradient;
        if (dtarget != nullptr) dtarget[i] = -gradient;
      });
}

class CudaSmoothL1 : public FormKernel<SmoothL1Form>, public NormalizedLoss {
 public:
  explicit CudaSmoothL1(const KernelArgs& args)
      : FormKernel(args), NormalizedLoss(form_.normalizer), count_(args.bottoms[0].shape.count()) {
    needs_.scratch_bytes = ReduceRowsBytes<double>(1, count_);
  }

  void Forward(const Pass& pass) override {
    SumLosses(GpuOf(device_), count_, form_.TermsOf<float>(t_.bottoms), form_.Divisor(pass),
              TopValues<float>(0), t_.scratch);
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    Differentiate(GpuOf(device_), count_, form_.TermsOf<float>(t_.bottoms), form_.Divisor(pass),
                  TopGradient<float>(0), BottomGradient<float>(0), BottomGradient<float>(1));
  }
  bool same_every_pass() const override { return true; }

 private:
  const int64_t count_;
};

std::string SmoothL1LossCudaDeclines(const KernelArgs& args) {
  return args.tops.size() > 1 ? "it has no second top" : DeclinesDouble(args);
}

DOPPIO_REGISTER_KERNEL(
    CudaKernel<CudaSmoothL1>("SmoothL1Loss").Declines(&SmoothL1LossCudaDeclines));
DOPPIO_REGISTER_KERNEL(
    CudaKernel<CudaSmoothL1>("SmoothL1LossOHEM").Declines(&SmoothL1LossCudaDeclines));

}  // namespace
}  // namespace doppio
