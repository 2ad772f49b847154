// LayerNorm, GroupNorm and InstanceNorm on a GPU, in plain layout, for every stored type.
#include "layers/common/channel_sums.cuh"
#include "layers/common/room.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/normalization/group_norm_form.h"

namespace doppio {
namespace {

constexpr char kGroupNorm[] = "a norm of groups";

// Mean and 1 / sqrt(variance + eps) of a row.
struct GroupMoments {
  float mean, inverse;
};

// What the kernels read besides the bottom and gradients. Null: ones, or zeros.
struct GroupNormGpu {
  explicit GroupNormGpu(const GroupNormForm& form)
      : form(form),
        row_of(form.length, form.count()),
        channels({form.count() / std::max<int64_t>(1, form.factors * form.inner), form.factors,
                  form.inner},
                 1, 2) {}

  GroupNormForm form;
  IndexDivider row_of;
  Channels channels;  // elements with the same factor
  const float *factors = nullptr, *biases = nullptr;
  GroupMoments* moments = nullptr;  // of each row

  __host__ __device__ float Normal(int64_t row, float x) const {
    return (x - moments[row].mean) * moments[row].inverse;
  }
  // Returns the gradient of normalised element i.
  __host__ __device__ float Scaled(int64_t i, float dy) const {
    return factors == nullptr ? dy : dy * factors[channels.Of(i)];
  }
};

// Rows of factors of LayerNorm that a thread adds up; a second launch adds their sums.
constexpr int64_t kRowsOfPart = 64;

int64_t LearnedParts(const GroupNormForm& form) {
  return form.per_element() ? (form.rows + kRowsOfPart - 1) / kRowsOfPart : 0;
}

// Returns the size of two sums per row and of the memory that forms these and the sums of learned
// values, in bytes.
int64_t GroupNormScratchBytes(const GroupNormForm& form) {
  const Channels channels = GroupNormGpu(form).channels;
  return form.rows * kBytesOf<TwoSums> +
         std::max({ReduceRowsBytes<TwoSums>(form.rows, form.length),
                   ReduceRowsBytes<TwoSums>(channels.channels(), channels.positions()),
                   LearnedParts(form) * form.length * kBytesOf<TwoSums>});
}

// Computes y, which may be x, and the moments.
template <class T>
static void NormalizeGroups(const Gpu& gpu, const GroupNormGpu& norm, const T* x, T* y,
                            void* scratch) {
  const int64_t rows = norm.form.rows, length = norm.form.length;
  if (length == 0) return;
  const double n = static_cast<double>(length), eps = static_cast<double>(norm.form.eps);
  double* const means = static_cast<double*>(scratch);
  void* const room = static_cast<TwoSums*>(scratch) + rows;
  GroupMoments* const moments = norm.moments;
  ReduceRows(
      gpu, rows, length, kGroupNorm, 0.0,
      DOPPIO_BODY(int64_t row, int64_t i) {
        return static_cast<double>(static_cast<float>(x[row * length + i]));
      },
      Plus(), DOPPIO_BODY(int64_t row, double sum) { means[row] = sum / n; }, room);
  ReduceRows(
      gpu, rows, length, kGroupNorm, 0.0,
      DOPPIO_BODY(int64_t row, int64_t i) {
        const double d = static_cast<double>(static_cast<float>(x[row * length + i])) - means[row];
        return d * d;
      },
      Plus(),
      DOPPIO_BODY(int64_t row, double squares) {
        moments[row] = {static_cast<float>(means[row]),
                        static_cast<float>(1 / std::sqrt(squares / n + eps))};
      },
      room);
  ForEachIndex(
      gpu, rows * length, kGroupNorm, DOPPIO_BODY(int64_t i) {
        const int64_t factor = norm.channels.Of(i);
        const float normal = norm.Normal(norm.row_of(i), static_cast<float>(x[i]));
        const float scaled = norm.factors == nullptr ? normal : normal * norm.factors[factor];
        y[i] = static_cast<T>(norm.biases == nullptr ? scaled : scaled + norm.biases[factor]);
      });
}

// Computes the gradients of factors and biases.
template <class T>
static void AddUpGroupNorm(const Gpu& gpu, const GroupNormGpu& norm, const T* x, const T* dy,
                           const SumTarget& scale, const SumTarget& bias, void* room) {
  const auto terms = DOPPIO_BODY(int64_t i) {
    const float d = static_cast<float>(dy[i]);
    const float normal = norm.Normal(norm.row_of(i), static_cast<float>(x[i]));
    return TwoSums{static_cast<double>(d * normal), static_cast<double>(d)};
  };
  const auto store = DOPPIO_BODY(int64_t factor, const TwoSums& sums) {
    scale.Store(factor, sums.first);
    bias.Store(factor, sums.second);
  };
  const Channels channels = norm.channels;
  if (!norm.form.per_element()) {
    ReduceRows(
        gpu, channels.channels(), channels.positions(), kGroupNorm, TwoSums{0, 0},
        DOPPIO_BODY(int64_t c, int64_t k) { return terms(channels.At(c, k)); }, PlusTwoSums(),
        store, room);
    return;
  }
  // Neighbouring threads read neighbouring elements of a row.
  const int64_t rows = norm.form.rows, length = norm.form.length, parts = LearnedParts(norm.form);
  TwoSums* const partial = static_cast<TwoSums*>(room);
  ForEachIndex(
      gpu, parts * length, kGroupNorm, DOPPIO_BODY(int64_t index) {
        const int64_t part = index / length, factor = index - part * length;
        const int64_t end = (part + 1) * kRowsOfPart < rows ? (part + 1) * kRowsOfPart : rows;
        TwoSums sums{0, 0};
        for (int64_t row = part * kRowsOfPart; row < end; ++row)
          sums = PlusTwoSums()(sums, terms(row * length + factor));
        partial[index] = sums;
      });
  ForEachIndex(
      gpu, length, kGroupNorm, DOPPIO_BODY(int64_t factor) {
        TwoSums sums{0, 0};
        for (int64_t part = 0; part < parts; ++part)
          sums = PlusTwoSums()(sums, partial[part * length + factor]);
        store(factor, sums);
      });
}

// Computes dx, which may be dy.
template <class T>
static void GroupNormGradient(const Gpu& gpu, const GroupNormGpu& norm, const T* x, const T* dy,
                              T* dx, void* scratch) {
  const int64_t rows = norm.form.rows, length = norm.form.length;
  if (length == 0) return;
  const double n = static_cast<double>(length);
  TwoSums* const means = static_cast<TwoSums*>(scratch);
  ReduceRows(
      gpu, rows, length, kGroupNorm, TwoSums{0, 0},
      DOPPIO_BODY(int64_t row, int64_t k) {
        const int64_t i = row * length + k;
        const double d = static_cast<double>(norm.Scaled(i, static_cast<float>(dy[i])));
        return TwoSums{d, d * static_cast<double>(norm.Normal(row, static_cast<float>(x[i])))};
      },
      PlusTwoSums(),
      DOPPIO_BODY(int64_t row, const TwoSums& sums) {
        means[row] = {sums.first / n, sums.second / n};
      },
      means + rows);
  ForEachIndex(
      gpu, rows * length, kGroupNorm, DOPPIO_BODY(int64_t i) {
        const int64_t row = norm.row_of(i);
        const float along_x =
            norm.Normal(row, static_cast<float>(x[i])) * static_cast<float>(means[row].second);
        const float gradient = norm.Scaled(i, static_cast<float>(dy[i]));
        dx[i] = static_cast<T>((gradient - static_cast<float>(means[row].first) - along_x) *
                               norm.moments[row].inverse);
      });
}

class CudaGroupNorm : public FormKernel<GroupNormForm> {
 public:
  explicit CudaGroupNorm(const KernelArgs& args)
      : FormKernel(args), type_(args.tops[0]), backward_(args.backward), norm_(form_) {
    needs_.types = {type_};
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
    if (form_.scale) norm_.factors = ParamValues<float>(0);
    if (form_.bias) norm_.biases = ParamValues<float>(form_.bias_param());
  }

  void Forward(const Pass&) override {
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      NormalizeGroups(GpuOf(device_), norm_, BottomValues<T>(0), TopValues<T>(0), t_.scratch);
    });
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const SumTarget scale = TargetOf(form_.scale, 0, add);
    const SumTarget bias = TargetOf(form_.bias, form_.bias_param(), add);
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      const Gpu gpu = GpuOf(device_);
      const T *x = BottomValues<T>(0), *dy = TopGradient<T>(0);
      // First, because dx may overwrite dy.
      if (scale.to != nullptr || bias.to != nullptr)
        AddUpGroupNorm(gpu, norm_, x, dy, scale, bias, t_.scratch);
      if (t_.bottom_grads[0])
        GroupNormGradient(gpu, norm_, x, dy, BottomGradient<T>(0), t_.scratch);
    });
  }
  bool same_every_pass() const override { return true; }

 private:
  // Assigns the memory, or only counts its bytes if both arguments are null.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    passing.TakeBytes(GroupNormScratchBytes(form_));
    norm_.moments = (backward_ ? kept : passing).Take<GroupMoments>(form_.rows);
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  SumTarget TargetOf(bool learned, size_t param, const std::vector<bool>& add) const {
    if (!learned || !t_.param_grads[param]) return {};
    return {ParamGradient<float>(param), add[param]};
  }

  const DType type_;
  const bool backward_;
  GroupNormGpu norm_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaGroupNorm>("LayerNorm").Narrow());
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaGroupNorm>("GroupNorm").Narrow());
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaGroupNorm>("InstanceNorm").Narrow());

}  // namespace
}  // namespace doppio
