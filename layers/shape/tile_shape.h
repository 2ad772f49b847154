// Tile's view of its bottom: what tile_param says, checked.
#ifndef DOPPIO_LAYERS_SHAPE_TILE_SHAPE_H_
#define DOPPIO_LAYERS_SHAPE_TILE_SHAPE_H_

#include <string>

#include "core/net/graph/layer.h"
#include "layers/shape/tile_runs.h"

namespace doppio {

inline int TileAxis(const LayerSpec& spec, const Shape& bottom) {
  const int axis = spec.param.tile_param().axis();
  if (bottom.has_axis(axis)) return bottom.canonical_axis(axis);
  throw spec.Mistake("tile_param.axis", "axis " + std::to_string(axis) +
                                            " does not exist in the bottom, whose shape is " +
                                            bottom.ToString());
}

inline TileRuns TileRunsOf(const LayerSpec& spec, const Shape& bottom) {
  const int axis = TileAxis(spec, bottom);
  return {bottom.count(0, axis), spec.param.tile_param().tiles(), bottom.count(axis)};
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_TILE_SHAPE_H_
