// Tile on a GPU: what tile_cuda.cc asks of tile.cu.
#ifndef DOPPIO_LAYERS_SHAPE_TILE_CUDA_H_
#define DOPPIO_LAYERS_SHAPE_TILE_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/shape/tile_runs.h"

namespace doppio {

void LaunchTile(const Gpu& gpu, const TileRuns& runs, const float* x, float* y);
void LaunchTileGradient(const Gpu& gpu, const TileRuns& runs, const float* dy, float* dx);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_TILE_CUDA_H_
