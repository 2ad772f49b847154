#include "core/device/launch.cuh"
#include "layers/shape/tile_cuda.h"

namespace doppio {

void LaunchTile(const Gpu& gpu, const TileRuns& runs, const float* x, float* y) {
  ForEachIndex(
      gpu, runs.outer * runs.tiles * runs.run, "Tile", DOPPIO_BODY(int64_t i) {
        const int64_t row = i / runs.run;
        y[i] = x[row / runs.tiles * runs.run + i - row * runs.run];
      });
}

void LaunchTileGradient(const Gpu& gpu, const TileRuns& runs, const float* dy, float* dx) {
  ForEachIndex(
      gpu, runs.outer * runs.run, "Tile's gradient", DOPPIO_BODY(int64_t i) {
        const int64_t o = i / runs.run;
        dx[i] = runs.Sum(dy, o, i - o * runs.run);
      });
}

}  // namespace doppio
