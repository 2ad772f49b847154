// Tile on a GPU, in single precision.
#include "layers/shape/tile_cuda.h"

#include "layers/common/stored_form_cuda.h"
#include "layers/shape/tile_shape.h"

namespace doppio {
namespace {

class CudaTile : public Kernel {
 public:
  explicit CudaTile(const KernelArgs& args)
      : device_(args.device), runs_(TileRunsOf(*args.spec, args.bottoms[0].shape)) {}

  void Forward(const Pass&) override {
    LaunchTile(GpuOf(device_), runs_, t_.bottoms[0].data<float>(), t_.tops[0].data<float>());
  }
  void Backward(const Pass&, const std::vector<bool>&) override {
    float* dx = t_.bottom_grads[0].data<float>();
    if (dx != nullptr) LaunchTileGradient(GpuOf(device_), runs_, t_.top_grads[0].data<float>(), dx);
  }
  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaTile>(args);
  }

 private:
  Device* const device_;
  const TileRuns runs_;
};

DOPPIO_REGISTER_KERNEL({"Tile", DeviceKind::kCuda, "cuda", 10, &CudaTile::Make, &DeclinesDouble});

}  // namespace
}  // namespace doppio
