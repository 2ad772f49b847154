// Tile: repeats the bottom along an axis.
#include <cstring>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/shape/tile_form.h"

namespace doppio {

namespace {

LayerShape InferTile(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const TileParameter& param = spec.param.tile_param();
  const Shape& bottom = bottoms[0];
  const int axis = AxisOf(spec, "tile_param.axis", param.axis(), bottom);
  spec.RefuseIf(param.tiles() < 1, "tile_param.tiles",
                param.has_tiles() ? "tiles must be positive, found " + std::to_string(param.tiles())
                                  : "tiles is missing; for example tiles: 2");
  LayerShape shape;
  shape.form = TileForm{axis, bottom.count(0, axis), param.tiles(), bottom.count(axis)};
  shape.tops = {bottom};
  shape.tops[0][axis] *= param.tiles();
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  if (param.tiles() == 1) shape.view = View::kSame;
  return shape;
}

template <class T>
class TileKernel : public FormKernel<TileForm> {
 public:
  using FormKernel::FormKernel;

  void Forward(const Pass&) override {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    ParallelFor(form_.outer * form_.tiles, 1 + 16384 / (form_.run + 1),
                [=](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    std::memcpy(y + i * form_.run, x + i / form_.tiles * form_.run,
                                static_cast<size_t>(form_.run) * sizeof(T));
                  }
                });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T* dy = TopGradient<T>(0);
    T* dx = BottomGradient<T>(0);
    ParallelFor(form_.outer * form_.run, 1 + 16384 / form_.tiles, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) dx[i] = form_.Sum(dy, i / form_.run, i % form_.run);
    });
  }
};

DOPPIO_REGISTER_LAYER("Tile", LayerType(&InferTile).Bottoms(1).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<TileKernel>("Tile"));

}  // namespace
}  // namespace doppio
