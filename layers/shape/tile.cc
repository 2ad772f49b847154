// Tile: the bottom several times along an axis.
#include <cstring>

#include "core/base/threads.h"
#include "layers/shape/tile_shape.h"

namespace doppio {
namespace {

LayerShape InferTile(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const int axis = TileAxis(spec, bottoms[0]);
  const TileParameter& param = spec.param.tile_param();
  if (param.tiles() < 1) {
    throw spec.Mistake("tile_param.tiles",
                       param.has_tiles()
                           ? "tiles must be positive, found " + std::to_string(param.tiles())
                           : "tiles is missing; for example tiles: 2");
  }
  LayerShape shape;
  shape.tops = {bottoms[0]};
  shape.tops[0][axis] *= param.tiles();
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  if (param.tiles() == 1) shape.view = View::kSame;
  return shape;
}

template <class T>
class TileKernel : public Kernel {
 public:
  explicit TileKernel(const KernelArgs& args)
      : runs_(TileRunsOf(*args.spec, args.bottoms[0].shape)) {}

  void Forward(const Pass&) override {
    const T* x = t_.bottoms[0].template data<T>();
    T* y = t_.tops[0].template data<T>();
    ParallelFor(runs_.outer * runs_.tiles, 1 + 16384 / (runs_.run + 1),
                [=](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    std::memcpy(y + i * runs_.run, x + i / runs_.tiles * runs_.run,
                                static_cast<size_t>(runs_.run) * sizeof(T));
                  }
                });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T* dy = t_.top_grads[0].template data<T>();
    T* dx = t_.bottom_grads[0].template data<T>();
    ParallelFor(runs_.outer * runs_.run, 1 + 16384 / runs_.tiles, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) dx[i] = runs_.Sum(dy, i / runs_.run, i % runs_.run);
    });
  }

 private:
  const TileRuns runs_;
};

DOPPIO_REGISTER_LAYER("Tile", LayerType{1, 1, 1, 1, false, false, &InferTile});
DOPPIO_REGISTER_KERNEL({"Tile", DeviceKind::kCpu, "reference", 0, &MakeForFloat<TileKernel>,
                        nullptr});

}  // namespace
}  // namespace doppio
