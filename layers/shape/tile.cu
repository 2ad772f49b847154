// Tile on a GPU, in single precision.
#include "core/device/launch.cuh"
#include "core/net/contract/kernel.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/shape/tile_form.h"

namespace doppio {
namespace {

// Writes the top.
static void RepeatRuns(const Gpu& gpu, const TileForm& form, const float* x, float* y) {
  ForEachIndex(
      gpu, form.outer * form.tiles * form.run, "Tile", DOPPIO_BODY(int64_t i) {
        const int64_t row = i / form.run;
        y[i] = x[row / form.tiles * form.run + i - row * form.run];
      });
}

// Writes the gradient of the bottom.
static void AddUpTiles(const Gpu& gpu, const TileForm& form, const float* dy, float* dx) {
  ForEachIndex(
      gpu, form.outer * form.run, "Tile's gradient", DOPPIO_BODY(int64_t i) {
        const int64_t o = i / form.run;
        dx[i] = form.Sum(dy, o, i - o * form.run);
      });
}

class CudaTile : public FormKernel<TileForm> {
 public:
  using FormKernel::FormKernel;

  void Forward(const Pass&) override {
    RepeatRuns(GpuOf(device_), form_, BottomValues<float>(0), TopValues<float>(0));
  }
  void Backward(const Pass&, const std::vector<bool>&) override {
    float* dx = BottomGradient<float>(0);
    if (dx != nullptr) AddUpTiles(GpuOf(device_), form_, TopGradient<float>(0), dx);
  }
  bool same_every_pass() const override { return true; }
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaTile>("Tile"));

}  // namespace
}  // namespace doppio
