// The update pass of a GPU: one launch over neighbouring parameters, whatever their number and size,
// and one reduction for the norm of all gradients.
#include <initializer_list>

#include "core/device/device_cuda.h"
#include "solvers/apply.h"
#include "solvers/update_element.h"

namespace doppio {
namespace {

// What one block updates at a time: small, so that small nets fill the device too.
constexpr int64_t kChunk = 4096;
// Blocks of the reduction, of which the last one adds up what the others found.
constexpr int64_t kMaxSums = 1024;

// A part of one parameter's slice.
struct Chunk {
  int64_t begin, end;
  int64_t grad_shift;  // what leads from an element to its gradient
  float lr_mult, decay_mult;
  bool gradient;
};

void AddChunks(const UpdateSlice& s, std::vector<Chunk>* chunks) {
  for (int64_t begin = s.begin; begin < s.end; begin += kChunk) {
    chunks->push_back({begin, std::min(s.end, begin + kChunk), s.grad_begin - s.begin, s.lr_mult,
                       s.decay_mult, s.gradient});
  }
}

// 16 bytes, moved by one instruction.
template <class T>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / sizeof(T);
  T v[kSize];
};

template <class T>
__device__ Pack<T>& PackAt(T* arena, int64_t element) {
  return *reinterpret_cast<Pack<T>*>(arena + element);
}
template <class T>
__device__ const Pack<T>& PackAt(const T* arena, int64_t element) {
  return *reinterpret_cast<const Pack<T>*>(arena + element);
}

// Calls packed(i) for the i where a whole pack begins and single(i) for the elements of the rest.
// Parameters begin at multiples of a pack (core/net/params.h), so the rest is only the end of each.
template <class T, class Packed, class Single>
__device__ void ForChunk(const Chunk& c, const Packed& packed, const Single& single) {
  constexpr int64_t kSize = Pack<T>::kSize;
  const int64_t packs = c.begin % kSize == 0 ? (c.end - c.begin) / kSize : 0;
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) packed(c.begin + p * kSize);
  for (int64_t i = c.begin + packs * kSize + threadIdx.x; i < c.end; i += blockDim.x) single(i);
}

template <class T>
struct Arenas {
  T* values;
  const T* grads;
  T* h0;
  T* h1;  // null for rules with one slot
};

template <class Rule, class T>
__global__ void UpdateChunks(const Chunk* chunks, int64_t count, Arenas<T> a, UpdateScalars<T> s,
                             double base_rate, double base_decay) {
  constexpr bool kTwo = Rule::kSlots > 1;
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const Chunk c = chunks[row];
    const T rate = static_cast<T>(base_rate * c.lr_mult);
    const T decay = static_cast<T>(base_decay * c.decay_mult);
    ForChunk<T>(
        c,
        [&](int64_t i) {
          Pack<T> w = PackAt(a.values, i), h0 = PackAt(a.h0, i), h1{};
          const Pack<T> g = c.gradient ? PackAt(a.grads, i + c.grad_shift) : Pack<T>{};
          if (kTwo) h1 = PackAt(a.h1, i);
#pragma unroll
          for (int k = 0; k < Pack<T>::kSize; ++k) {
            T h[kMaxSlots] = {h0.v[k], h1.v[k]};
            UpdateElement<Rule>(s, rate, decay, g.v[k], &w.v[k], h);
            h0.v[k] = h[0];
            h1.v[k] = h[1];
          }
          PackAt(a.values, i) = w;
          PackAt(a.h0, i) = h0;
          if (kTwo) PackAt(a.h1, i) = h1;
        },
        [&](int64_t i) {
          T h[kMaxSlots] = {a.h0[i], kTwo ? a.h1[i] : T(0)};
          const T g = c.gradient ? a.grads[i + c.grad_shift] : T(0);
          UpdateElement<Rule>(s, rate, decay, g, &a.values[i], h);
          a.h0[i] = h[0];
          if (kTwo) a.h1[i] = h[1];
        });
  }
}

// The sum over all threads of a block, in thread 0, always added in the same order.
__device__ double BlockSum(double value) {
  __shared__ double sums[kThreadsPerBlock];
  sums[threadIdx.x] = value;
  for (int half = kThreadsPerBlock / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  const double sum = sums[0];
  __syncthreads();  // `sums` is free again
  return sum;
}

// Which block comes last differs from run to run, what it adds up does not. `arrived` is 0 before
// and after.
template <class T>
__global__ void SumSquaresOf(const Chunk* chunks, int64_t count, const T* grads,
                             volatile double* sums, unsigned* arrived, double* total) {
  double sum = 0;
  auto add = [&](T g) { sum += static_cast<double>(g) * static_cast<double>(g); };
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const Chunk c = chunks[row];
    if (!c.gradient) continue;
    ForChunk<T>(
        c,
        [&](int64_t i) {
          const Pack<T> g = PackAt(grads, i + c.grad_shift);
#pragma unroll
          for (int k = 0; k < Pack<T>::kSize; ++k) add(g.v[k]);
        },
        [&](int64_t i) { add(grads[i + c.grad_shift]); });
  }
  sum = BlockSum(sum);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  sum = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += sums[i];
  sum = BlockSum(sum);
  if (threadIdx.x == 0) *total = sum;
}

class CudaUpdatePass : public UpdatePass {
 public:
  CudaUpdatePass(Device* device, UpdateArenas arenas, size_t rule)
      : device_(device), a_(std::move(arenas)), rule_(rule) {
    std::vector<Chunk> chunks;
    for (const UpdateSlice& slice : a_.slices) {
      first_row_.push_back(static_cast<int64_t>(chunks.size()));
      AddChunks(slice, &chunks);
    }
    count_ = static_cast<int64_t>(chunks.size());
    first_row_.push_back(count_);
    const int64_t bytes = count_ * static_cast<int64_t>(sizeof(Chunk));
    chunks_ = Buffer(device, bytes);
    if (count_ > 0) device->CopyFromHost(chunks_.data(), chunks.data(), bytes);
    sums_ = Buffer(device, kMaxSums * sizeof(double));
    total_ = Buffer(device, sizeof(double));
    arrived_ = Buffer(device, sizeof(unsigned));
  }

  double SumSquares() override {
    if (count_ == 0) return 0;
    DispatchFloat(a_.dtype, [this](auto type) {
      using T = decltype(type);
      SumSquaresOf<<<static_cast<unsigned>(std::min(count_, kMaxSums)), kThreadsPerBlock, 0,
                     CudaStream(device_)>>>(
          Rows(), count_, static_cast<const T*>(a_.grads), static_cast<double*>(sums_.data()),
          static_cast<unsigned*>(arrived_.data()), static_cast<double*>(total_.data()));
      CheckLaunch("the gradient norm");
    });
    double total = 0;
    device_->CopyToHost(&total, total_.data(), sizeof total);
    return total;
  }

  // The kernels here pass NaN on, so the loss tells.
  std::optional<size_t> FirstLost() const override { return std::nullopt; }

  void Run(const UpdateNumbers& numbers, size_t first, size_t last) override {
    const int64_t begin = first_row_[first], count = first_row_[last] - begin;
    if (count == 0) return;
    VisitRule(rule_, [&](auto rule) {
      DispatchFloat(a_.dtype, [&](auto type) {
        Launch<decltype(rule), decltype(type)>(numbers, begin, count);
      });
    });
  }

 private:
  const Chunk* Rows() const { return static_cast<const Chunk*>(chunks_.data()); }

  template <class Rule, class T>
  void Launch(const UpdateNumbers& n, int64_t first_row, int64_t rows) {
    const UpdateScalars<T> s = ScalarsOf<T>(n);
    const Arenas<T> arenas = {static_cast<T*>(a_.values), static_cast<const T*>(a_.grads),
                              static_cast<T*>(a_.history[0]), static_cast<T*>(a_.history[1])};
    UpdateChunks<Rule, T>
        <<<BlocksFor(rows * kThreadsPerBlock), kThreadsPerBlock, 0, CudaStream(device_)>>>(
            Rows() + first_row, rows, arenas, s, n.rate, n.decay);
    CheckLaunch(Rule::kName);
  }

  Device* device_;
  UpdateArenas a_;
  size_t rule_;
  int64_t count_ = 0;  // chunks
  std::vector<int64_t> first_row_;  // of each slice in the chunks; their number at the end
  Buffer chunks_, sums_, total_, arrived_;
};

std::unique_ptr<UpdatePass> MakeCudaPass(Device* device, UpdateArenas arenas, size_t rule) {
  return std::make_unique<CudaUpdatePass>(device, std::move(arenas), rule);
}

DOPPIO_REGISTER(UpdatePasses, Name(DeviceKind::kCuda), &MakeCudaPass);

}  // namespace
}  // namespace doppio
