// MVN on a GPU, in single precision and plain layout.
#include "layers/common/channel_sums.cuh"
#include "layers/common/room.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/normalization/mvn_form.h"

namespace doppio {
namespace {

constexpr char kName[] = "MVN";

// Returns the size of two sums per row and of the scratch memory that forms them, in bytes.
int64_t MvnScratchBytes(const MvnForm& form) {
  return form.rows * kBytesOf<TwoSums> + ReduceRowsBytes<TwoSums>(form.rows, form.length);
}

// Normalises x into y, which may be x. Sets inverses[row] to 1 / (deviation + eps). If `inverses`
// is null, subtracts only the mean.
static void NormalizeRows(const Gpu& gpu, const MvnForm& form, const float* x, float* y,
                          float* inverses, void* scratch) {
  const int64_t rows = form.rows, length = form.length;
  const float eps = form.eps;
  if (length == 0) return;
  double* const means = static_cast<double*>(scratch);
  void* const room = static_cast<TwoSums*>(scratch) + rows;
  const double n = static_cast<double>(length);
  ReduceRows(
      gpu, rows, length, kName, 0.0,
      DOPPIO_BODY(int64_t row, int64_t i) { return static_cast<double>(x[row * length + i]); },
      Plus(), DOPPIO_BODY(int64_t row, double sum) { means[row] = sum / n; }, room);
  if (inverses != nullptr) {
    ReduceRows(
        gpu, rows, length, kName, 0.0,
        DOPPIO_BODY(int64_t row, int64_t i) {
          const double d = static_cast<double>(x[row * length + i]) - means[row];
          return d * d;
        },
        Plus(),
        DOPPIO_BODY(int64_t row, double sum) {
          inverses[row] = static_cast<float>(1 / (std::sqrt(sum / n) + static_cast<double>(eps)));
        },
        room);
  }
  const IndexDivider row_of(length, rows * length);
  ForEachIndex(
      gpu, rows * length, kName, DOPPIO_BODY(int64_t i) {
        const int64_t row = row_of(i);
        const float centred = static_cast<float>(static_cast<double>(x[i]) - means[row]);
        y[i] = inverses != nullptr ? centred * inverses[row] : centred;
      });
}

// Computes dx, which may be dy. Reads y only if `inverses` is not null.
static void MvnGradient(const Gpu& gpu, const MvnForm& form, const float* y, const float* dy,
                        const float* inverses, float* dx, void* scratch) {
  const int64_t rows = form.rows, length = form.length;
  if (length == 0) return;
  TwoSums* const means = static_cast<TwoSums*>(scratch);
  const double n = static_cast<double>(length);
  ReduceRows(
      gpu, rows, length, kName, TwoSums{0, 0},
      DOPPIO_BODY(int64_t row, int64_t i) {
        const double d = static_cast<double>(dy[row * length + i]);
        return TwoSums{d, inverses != nullptr ? static_cast<double>(y[row * length + i]) * d : 0};
      },
      PlusTwoSums(),
      DOPPIO_BODY(int64_t row, TwoSums sums) {
        means[row] = {sums.first / n, sums.second / n};
      },
      means + rows);
  const IndexDivider row_of(length, rows * length);
  ForEachIndex(
      gpu, rows * length, kName, DOPPIO_BODY(int64_t i) {
        const int64_t row = row_of(i);
        const float centred = dy[i] - static_cast<float>(means[row].first);
        dx[i] = inverses == nullptr
                    ? centred
                    : (centred - y[i] * static_cast<float>(means[row].second)) * inverses[row];
      });
}

class CudaMvn : public FormKernel<MvnForm> {
 public:
  explicit CudaMvn(const KernelArgs& args) : FormKernel(args), backward_(args.backward) {
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
  }

  void Forward(const Pass&) override {
    NormalizeRows(GpuOf(device_), form_, BottomValues<float>(0), TopValues<float>(0), inverses_,
                  t_.scratch);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    MvnGradient(GpuOf(device_), form_, TopValues<float>(0), TopGradient<float>(0), inverses_,
                BottomGradient<float>(0), t_.scratch);
  }
  bool same_every_pass() const override { return true; }

 private:
  // Assigns the memory, or only counts its bytes if both arguments are null. NormalizeRows and
  // MvnGradient use the beginning of the scratch memory.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    passing.TakeBytes(MvnScratchBytes(form_));
    if (form_.scales) inverses_ = (backward_ ? kept : passing).Take<float>(form_.rows);
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  const bool backward_;
  float* inverses_ = nullptr;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaMvn>("MVN"));

}  // namespace
}  // namespace doppio
