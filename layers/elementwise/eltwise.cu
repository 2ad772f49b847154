// Eltwise and Eltwise+ReLU on a GPU, plain or channels last, for every stored type. Forward takes
// one pass over memory, and so does backward for all bottoms together.
#include "core/device/elementwise.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/elementwise/chain.h"
#include "layers/elementwise/eltwise_form.h"

namespace doppio {
namespace {

constexpr char kName[] = "Eltwise";

// A layer with any number of bottoms. The arrays have one entry per bottom and are in device
// memory.
struct EltwiseTable {
  EltwiseOp op;
  int count;
  DType type;   // the stored type of the bottoms, the top and their gradients
  bool packed;  // true if all addresses are aligned for packs
  const void* const* in;
  void* const* grads;         // null if the gradient is not needed
  const float* coefficients;  // for kSum
};

template <class T>
__host__ __device__ const T* Bottom(const EltwiseTable& t, int k) {
  return static_cast<const T*>(t.in[k]);
}

// Calls f(k, lane, value's lane, bottom k's lane) for each bottom k from `first` on and for each
// lane.
template <class T, int kWidth, class F>
__host__ __device__ void FoldBottoms(const EltwiseTable& t, int64_t i, int first,
                                     Lanes<kWidth>* value, const F& f) {
  for (int k = first; k < t.count; ++k) {
    const Lanes<kWidth> x = Lanes<kWidth>::Of(Bottom<T>(t, k) + i);
    for (int lane = 0; lane < kWidth; ++lane) f(k, lane, &value->v[lane], x.v[lane]);
  }
}

template <class T>
struct EltwiseValues {
  EltwiseTable t;
  Relu relu;
  T* y;
  EltwiseWinner* winners;

  template <int kWidth>
  __host__ __device__ void Run(int64_t i) const {
    Lanes<kWidth> value = Lanes<kWidth>::Of(Bottom<T>(t, 0) + i);
    if (t.op == EltwiseOp::kSum) {
      for (int lane = 0; lane < kWidth; ++lane) value.v[lane] *= t.coefficients[0];
      FoldBottoms<T>(t, i, 1, &value,
                     [this](int k, int, float* sum, float x) { *sum += t.coefficients[k] * x; });
    } else if (t.op == EltwiseOp::kMax) {
      Max(i, &value);
    } else {
      FoldBottoms<T>(t, i, 1, &value, [](int, int, float* product, float x) { *product *= x; });
    }
    for (int lane = 0; lane < kWidth; ++lane) value.v[lane] = relu.Forward(value.v[lane]);
    value.Store(y + i);
  }

 private:
  // Resolves ties like Caffe: of the first two bottoms the second wins, and a later bottom must be
  // larger to win.
  template <int kWidth>
  __host__ __device__ void Max(int64_t i, Lanes<kWidth>* value) const {
    Pack<EltwiseWinner, kWidth> best{};
    FoldBottoms<T>(t, i, 1, value, [&best](int k, int lane, float* max, float x) {
      if (k == 1 ? *max > x : !(x > *max)) return;
      best.v[lane] = static_cast<EltwiseWinner>(k);
      *max = x;
    });
    if (winners != nullptr) StorePack(best, winners + i);
  }
};

template <class T>
struct EltwiseGradients {
  EltwiseTable t;
  bool mask;
  Relu relu;
  const T* y;
  T* dy;
  const EltwiseWinner* winners;

  template <int kWidth>
  __host__ __device__ void Run(int64_t i) const {
    Lanes<kWidth> d = Lanes<kWidth>::Of(dy + i);
    if (mask) {
      const Lanes<kWidth> top = Lanes<kWidth>::Of(y + i);
      for (int lane = 0; lane < kWidth; ++lane) d.v[lane] = relu.Gradient(top.v[lane], d.v[lane]);
      d.Store(dy + i);
    }
    for (int k = 0; k < t.count; ++k) {
      if (t.grads[k] != nullptr) Gradient(k, i, d).Store(static_cast<T*>(t.grads[k]) + i);
    }
  }

 private:
  // Returns the gradient of bottom k, where d is the gradient of the top.
  template <int kWidth>
  __host__ __device__ Lanes<kWidth> Gradient(int k, int64_t i, Lanes<kWidth> d) const {
    switch (t.op) {
      case EltwiseOp::kSum:
        for (int lane = 0; lane < kWidth; ++lane) d.v[lane] *= t.coefficients[k];
        break;
      case EltwiseOp::kMax: {
        const Pack<EltwiseWinner, kWidth> best = LoadPack<kWidth>(winners + i);
        for (int lane = 0; lane < kWidth; ++lane) d.v[lane] = best.v[lane] == k ? d.v[lane] : 0.0f;
        break;
      }
      case EltwiseOp::kProduct:
        FoldBottoms<T>(t, i, 0, &d, [k](int other, int, float* product, float x) {
          if (other != k) *product *= x;
        });
        break;
      case EltwiseOp::kQuotient: {
        const Lanes<kWidth> top = Lanes<kWidth>::Of(y + i),
                            x = Lanes<kWidth>::Of(Bottom<T>(t, k) + i);
        for (int lane = 0; lane < kWidth; ++lane) d.v[lane] *= top.v[lane] / x.v[lane];
        break;
      }
    }
    return d;
  }
};

template <class T>
static void SumOfTwo(const Gpu& gpu, int64_t n, float a, const T* x, float b, const T* z,
                     const Relu& relu, T* y) {
  MapElements(
      gpu, n, kName, y,
      DOPPIO_BODY(float first, float second) { return relu.Forward(a * first + b * second); }, x,
      z);
}

class CudaEltwise : public Kernel {
 public:
  explicit CudaEltwise(const KernelArgs& args)
      : device_(args.device),
        tail_(args.chain),
        relu_(tail_.relu ? *tail_.relu : Relu(1)),
        coefficients_(args.Form<EltwiseForm>().coefficients) {
    table_.op = args.Form<EltwiseForm>().op;
    table_.count = static_cast<int>(args.bottoms.size());
    table_.type = args.tops[0];
    AskForOneForm(args, &needs_);
    if (table_.op == EltwiseOp::kMax && args.backward) {
      needs_.saved_bytes = args.bottoms[0].shape.count() * kBytesOf<EltwiseWinner>;
    }
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    winners_ = needs_.saved_bytes > 0 ? static_cast<EltwiseWinner*>(t_.saved) : nullptr;
    std::vector<const void*> in;
    std::vector<void*> grads;
    table_.packed = true;
    for (size_t i = 0; i < coefficients_.size(); ++i) {
      in.push_back(t_.bottoms[i].raw);
      grads.push_back(i < t_.bottom_grads.size() ? t_.bottom_grads[i].raw : nullptr);
      table_.packed = table_.packed && PacksAligned(in.back(), grads.back());
    }
    table_.in = Put(in, &in_there_);
    table_.grads = Put(grads, &grads_there_);
    table_.coefficients = Put(coefficients_, &coefficients_there_);
    has_backward_ = tail_.relu ||
                    std::any_of(grads.begin(), grads.end(), [](void* dx) { return dx != nullptr; });
  }

  void Forward(const Pass&) override {
    const Tensor& y = t_.tops[0];
    DispatchStored(y.dtype, [&](auto zero) {
      using T = decltype(zero);
      T* to = static_cast<T*>(y.raw);
      if (table_.op == EltwiseOp::kSum && table_.count == 2) {
        SumOfTwo(GpuOf(device_), y.count(), coefficients_[0], BottomValues<T>(0), coefficients_[1],
                 BottomValues<T>(1), relu_, to);
      } else {
        ForEachPack<kPackWidth<T>>(GpuOf(device_), y.count(),
                                   table_.packed && PacksAligned(to, winners_), kName,
                                   EltwiseValues<T>{table_, relu_, to, winners_});
      }
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!has_backward_) return;  // the bottoms' gradients share the memory of the top's
    const Tensor& dy = t_.top_grads[0];
    DispatchStored(dy.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* y = TopValues<T>(0);
      T* gradient = static_cast<T*>(dy.raw);
      ForEachPack<kPackWidth<T>>(
          GpuOf(device_), dy.count(), table_.packed && PacksAligned(y, gradient, winners_), kName,
          EltwiseGradients<T>{table_, tail_.relu.has_value(), relu_, y, gradient, winners_});
    });
  }
  bool same_every_pass() const override { return true; }

 private:
  template <class T>
  const T* Put(const std::vector<T>& values, Buffer* there) {
    const int64_t bytes = static_cast<int64_t>(values.size() * sizeof(T));
    *there = Buffer(device_, bytes);
    device_->CopyFromHost(there->data(), values.data(), bytes);
    return static_cast<const T*>(there->data());
  }

  Device* const device_;
  const ChainTail tail_;
  const Relu relu_;
  std::vector<float> coefficients_;
  EltwiseTable table_{};
  Buffer in_there_, grads_there_, coefficients_there_;
  EltwiseWinner* winners_ = nullptr;
  bool has_backward_ = false;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaEltwise>("Eltwise").Narrow());
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaEltwise>("Eltwise+ReLU").Narrow());

}  // namespace
}  // namespace doppio
