// ContrastiveLoss on a GPU, in single precision. Nothing is copied to the host.
#include "core/device/launch.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/loss/contrastive_loss_ops.h"
#include "layers/loss/normalized_loss.h"

namespace doppio {
namespace {

constexpr char kName[] = "ContrastiveLoss";

struct ContrastivePairs {
  const float *a, *b;    // samples x values
  const float* similar;  // one per sample
  int64_t samples, values;
  ContrastiveTerms<float> terms;
};

// Returns the size of the scratch memory: the loss of each pair, then memory for reductions.
static int64_t ScratchBytes(int64_t samples, int64_t values) {
  return samples * kBytesOf<double> +
         std::max(ReduceRowsBytes<double>(samples, values), ReduceRowsBytes<double>(1, samples));
}

// Writes the sum over pairs / (2 divisor) to *loss in device memory. If `slopes` is not null,
// writes each pair's slope to it for Backward.
static void SumLosses(const Gpu& gpu, const ContrastivePairs& pairs, double divisor, float* loss,
                      float* slopes, void* scratch) {
  double* const losses = static_cast<double*>(scratch);
  void* const room = losses + pairs.samples;
  const int64_t values = pairs.values;
  ReduceRows(
      gpu, pairs.samples, values, kName, 0.0,
      DOPPIO_BODY(int64_t n, int64_t i) {
        const double d = static_cast<double>(pairs.a[n * values + i] - pairs.b[n * values + i]);
        return d * d;
      },
      Plus(),
      DOPPIO_BODY(int64_t n, double square) {
        const bool similar = pairs.terms.Similar(pairs.similar[n]);
        losses[n] = static_cast<double>(pairs.terms.Loss(similar, static_cast<float>(square)));
        if (slopes != nullptr) slopes[n] = pairs.terms.Slope(similar, static_cast<float>(square));
      },
      room);
  ReduceRows(
      gpu, 1, pairs.samples, kName, 0.0, DOPPIO_BODY(int64_t, int64_t n) { return losses[n]; },
      Plus(), DOPPIO_BODY(int64_t, double sum) { *loss = static_cast<float>(sum / 2 / divisor); },
      room);
}

// Writes the gradients of both bottoms; da or db may be null. `weight` points to the loss weight in
// device memory.
static void Differentiate(const Gpu& gpu, const ContrastivePairs& pairs, double divisor,
                          const float* weight, const float* slopes, float* da, float* db) {
  ForEachIndex(
      gpu, pairs.samples * pairs.values, kName, DOPPIO_BODY(int64_t i) {
        const float scale = static_cast<float>(static_cast<double>(*weight) / divisor);
        const float gradient = scale * slopes[i / pairs.values] * (pairs.a[i] - pairs.b[i]);
        if (da != nullptr) da[i] = gradient;
        if (db != nullptr) db[i] = -gradient;
      });
}

class CudaContrastiveLoss : public FormKernel<ContrastiveForm>, public NormalizedLoss {
 public:
  explicit CudaContrastiveLoss(const KernelArgs& args)
      : FormKernel(args), NormalizedLoss(form_.normalizer) {
    needs_.scratch_bytes = ScratchBytes(form_.samples, form_.values);
    if (args.backward) needs_.saved_bytes = form_.samples * kBytesOf<float>;
  }

  void Forward(const Pass& pass) override {
    float* slopes = needs_.saved_bytes > 0 ? static_cast<float*>(t_.saved) : nullptr;
    SumLosses(GpuOf(device_), Pairs(), form_.Divisor(pass), TopValues<float>(0), slopes,
              t_.scratch);
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    Differentiate(GpuOf(device_), Pairs(), form_.Divisor(pass), TopGradient<float>(0),
                  static_cast<const float*>(t_.saved), BottomGradient<float>(0),
                  BottomGradient<float>(1));
  }
  bool same_every_pass() const override { return true; }

 private:
  ContrastivePairs Pairs() const {
    return {BottomValues<float>(0), BottomValues<float>(1), BottomValues<float>(2),
            form_.samples,          form_.values,           form_.terms};
  }
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaContrastiveLoss>("ContrastiveLoss"));

}  // namespace
}  // namespace doppio
