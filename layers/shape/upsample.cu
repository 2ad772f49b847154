// Upsample on a GPU, in single precision. The host does not wait for the GPU, so a later Forward
// throws the error for a mask that points outside of the top.
#include "core/device/launch.cuh"
#include "core/net/contract/kernel.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/shape/upsample_ops.h"

namespace doppio {
namespace {

// atomicMax keeps the largest index; the result does not depend on the order of the threads.
__global__ void FindLastKernel(const UpsampleGrid grid, const float* mask, int32_t* last,
                               uint32_t* bad) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t n = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       n < grid.bottom_count(); n += step) {
    const int64_t place = PlaceByMask(grid, mask, n);
    if (place < 0) {
      atomicExch(bad, 1u);
    } else {
      atomicMax(last + place, static_cast<int32_t>(n));
    }
  }
}

// Writes to last[place] the index of the last element of the bottom that the mask puts at `place`,
// or -1 if there is none. Sets *bad to 1 for an index outside of the top.
static void FindLast(const Gpu& gpu, const UpsampleGrid& grid, const float* mask, int32_t* last,
                     uint32_t* bad) {
  ForEachIndex(
      gpu, grid.top_count(), "Upsample", DOPPIO_BODY(int64_t n) { last[n] = -1; });
  if (grid.bottom_count() == 0) return;
  Launch(gpu, "Upsample", &FindLastKernel, BlocksFor(grid.bottom_count()), grid, mask, last, bad);
}

class CudaUpsample : public FormKernel<UpsampleForm> {
 public:
  explicit CudaUpsample(const KernelArgs& args)
      : FormKernel(args),
        layer_(args.layer),
        grid_(form_.grid),
        bad_(args.device, sizeof(uint32_t)) {
    *bad() = 0;
    if (form_.masked) {
      needs_.scratch_bytes = grid_.top_count() * kBytesOf<int32_t>;
    }
  }

  void Forward(const Pass&) override {
    const float* x = BottomValues<float>(0);
    float* y = TopValues<float>(0);
    const Gpu gpu = GpuOf(device_);
    if (!form_.masked) {
      ForEachIndex(gpu, grid_.top_count(), "Upsample", RepeatPixels<float>{grid_, x, y});
      return;
    }
    if (*static_cast<volatile uint32_t*>(bad()) != 0) throw form_.BadMask(layer_);
    int32_t* last = static_cast<int32_t*>(t_.scratch);
    FindLast(gpu, grid_, BottomValues<float>(1), last, bad());
    ForEachIndex(gpu, grid_.top_count(), "Upsample", TakeLast<float>{last, x, y});
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    float* dx = BottomGradient<float>(0);
    if (dx == nullptr) return;
    const float* dy = TopGradient<float>(0);
    const char* what = "Upsample's gradient";
    if (form_.masked) {
      const float* mask = BottomValues<float>(1);
      ForEachIndex(GpuOf(device_), grid_.bottom_count(), what,
                   ReadByMask<float>{grid_, mask, dy, dx});
    } else {
      ForEachIndex(GpuOf(device_), grid_.bottom_count(), what, SumPixels<float>{grid_, dy, dx});
    }
  }

  bool same_every_pass() const override { return !form_.masked; }

 private:
  // Pinned host memory that the GPU sets to 1 for a bad mask.
  uint32_t* bad() const { return static_cast<uint32_t*>(bad_.data()); }

  const std::string layer_;
  const UpsampleGrid grid_;
  const PinnedBuffer bad_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaUpsample>("Upsample"));

}  // namespace
}  // namespace doppio
