// Normalize on a GPU, in single precision and plain layout.
#include "layers/activation/softmax_rows.cuh"
#include "layers/common/channels_cuda.h"
#include "layers/common/room.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/normalization/normalize_form.h"

namespace doppio {
namespace {

constexpr char kName[] = "Normalize";

// Returns a view of the bottom in which each channel has the elements of one factor: a channel of
// the bottom, or all elements if one factor is shared.
Channels FactorElements(const NormalizeForm& s) {
  const int64_t samples = s.groups.count() / std::max<int64_t>(1, s.channels * s.inner);
  return s.shared ? Channels(s.groups.count()) : Channels({samples, s.channels, s.inner}, 1, 2);
}

// Returns the size of a float per norm and of the scratch memory for sums, in bytes.
int64_t NormalizeScratchBytes(const NormalizeForm& s) {
  const Channels factors = FactorElements(s);
  return (s.groups.positions() + 1) / 2 * 2 * kBytesOf<float> +
         std::max(ReduceClassesBytes<double>(s.groups),
                  ReduceRowsBytes<double>(factors.channels(), factors.positions()));
}

// Writes y, and sets inverses[group] to 1 / norm for backward.
static void DivideByNorms(const Gpu& gpu, const NormalizeForm& s, const float* x,
                          const float* factors, float* inverses, float* y, void* scratch) {
  ReduceClasses(
      gpu, s.groups, kName, 0.0,
      DOPPIO_BODY(int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); },
      Plus(),
      DOPPIO_BODY(int64_t group, double squares) {
        inverses[group] = static_cast<float>(1 / std::sqrt(squares + s.eps));
      },
      scratch);
  const SoftmaxPlaces<int64_t> places(s.groups);
  ForEachIndex(
      gpu, s.groups.count(), kName, DOPPIO_BODY(int64_t i) {
        y[i] = x[i] * inverses[places(i).position] * factors[s.Factor(i)];
      });
}

// Computes the gradients of the factors, unless factor_grad has no destination, and of x, unless dx
// is null. dx may be dy.
static void NormalizeGradient(const Gpu& gpu, const NormalizeForm& s, const float* x,
                              const float* dy, const float* factors, const float* inverses,
                              const SumTarget& factor_grad, float* dx, void* scratch) {
  float* const along = static_cast<float*>(scratch);
  void* const room = along + (s.groups.positions() + 1) / 2 * 2;
  const SoftmaxPlaces<int64_t> places(s.groups);
  if (factor_grad.to != nullptr) {
    const Channels of_factor = FactorElements(s);
    ReduceRows(
        gpu, of_factor.channels(), of_factor.positions(), kName, 0.0,
        DOPPIO_BODY(int64_t f, int64_t k) {
          const int64_t i = of_factor.At(f, k);
          return static_cast<double>(x[i] * inverses[places(i).position] * dy[i]);
        },
        Plus(), DOPPIO_BODY(int64_t f, double sum) { factor_grad.Store(f, sum); }, room);
  }
  if (dx == nullptr) return;
  ReduceClasses(
      gpu, s.groups, kName, 0.0,
      DOPPIO_BODY(int64_t i) {
        return static_cast<double>(x[i]) * static_cast<double>(factors[s.Factor(i)] * dy[i]);
      },
      Plus(),
      DOPPIO_BODY(int64_t group, double dot) {
        along[group] = static_cast<float>(dot) * inverses[group] * inverses[group];
      },
      room);
  ForEachIndex(
      gpu, s.groups.count(), kName, DOPPIO_BODY(int64_t i) {
        const int64_t group = places(i).position;
        dx[i] = (factors[s.Factor(i)] * dy[i] - x[i] * along[group]) * inverses[group];
      });
}

class CudaNormalize : public FormKernel<NormalizeForm> {
 public:
  explicit CudaNormalize(const KernelArgs& args) : FormKernel(args), backward_(args.backward) {
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
  }

  void Forward(const Pass&) override {
    DivideByNorms(GpuOf(device_), form_, BottomValues<float>(0), ParamValues<float>(0), inverses_,
                  TopValues<float>(0), t_.scratch);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    NormalizeGradient(GpuOf(device_), form_, BottomValues<float>(0), TopGradient<float>(0),
                      ParamValues<float>(0), inverses_, {ParamGradient<float>(0), add[0]},
                      BottomGradient<float>(0), t_.scratch);
  }
  bool same_every_pass() const override { return true; }

 private:
  // Assigns the memory, or only counts its bytes if both arguments are null. DivideByNorms and
  // NormalizeGradient use the beginning of the scratch memory.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    passing.TakeBytes(NormalizeScratchBytes(form_));
    inverses_ = (backward_ ? kept : passing).Take<float>(form_.groups.positions());
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  const bool backward_;
  float* inverses_ = nullptr;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaNormalize>("Normalize"));

}  // namespace
}  // namespace doppio
