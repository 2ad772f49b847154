// Decides which convolutions use Winograd's minimal filtering: Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", CVPR 2016.
#ifndef DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_RULE_H_
#define DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_RULE_H_

#include "core/net/contract/kernel.h"
#include "layers/convolution/conv_geometry.h"
#include "layers/convolution/winograd_tiles.h"

namespace doppio {

// Where convolutions use Winograd's minimal filtering, which multiplies less and rounds more: where
// it is faster (kAuto), where it is possible (kOn) or nowhere.
enum class Winograd { kAuto, kOn, kOff };

// Returns the setting of the engine "winograd": "auto" (the default), "on" or "off".
inline Winograd WinogradOf(const KernelArgs& args) {
  const auto found = args.engine_options.find("winograd");
  if (found == args.engine_options.end() || found->second == "auto") return Winograd::kAuto;
  DOPPIO_CHECK(found->second == "on" || found->second == "off", "winograd: " + found->second);
  return found->second == "on" ? Winograd::kOn : Winograd::kOff;
}

// Returns the number of tiles of an image.
inline int64_t WinogradTiles(const ConvGeometry& g) {
  constexpr int64_t kTop = winograd::kTop;
  return ((g.output[0] + kTop - 1) / kTop) * ((g.output[1] + kTop - 1) / kTop);
}

// Returns true if Winograd's filtering should compute this convolution in single precision. kAuto
// decides by the extents and not by the clock, so that a resumed training computes the same bits,
// nor by the batch, so that replicas compute what one big batch computes: vectors of channels are
// full, and images have at least `min_tiles` tiles, which waste less than half of their products on
// elements outside the top.
inline bool WinogradPays(const ConvGeometry& g, Winograd use, int64_t min_tiles = 4) {
  using Extents = std::vector<int64_t>;
  const bool fits = (g.kernel == Extents{3, 3} || g.kernel == Extents{5, 5}) &&
                    g.stride == Extents{1, 1} && g.dilation == Extents{1, 1};
  if (!fits || use == Winograd::kOff) return false;
  if (use == Winograd::kOn) return true;
  const int64_t tiles = WinogradTiles(g);
  constexpr int64_t kLanes = 16;
  const bool full = g.in_channels / g.group % kLanes == 0 && g.out_channels / g.group % kLanes == 0;
  return full && tiles >= min_tiles &&
         2 * g.output_count() >= tiles * winograd::kTop * winograd::kTop;
}

// Returns the same for images in bfloat16, on a CPU that multiplies them twice as fast as floats.
// kAuto then requires 3.5 times fewer products.
inline bool WinogradPaysInBFloat16(const ConvGeometry& g, Winograd use) {
  const bool pays = WinogradPays(g, use);
  if (use != Winograd::kAuto || !pays) return pays;
  const int64_t points = winograd::PointsOf(static_cast<int>(g.kernel[0]));
  return 2 * g.output_count() * g.kernel_count() >= 7 * WinogradTiles(g) * points;
}

// Returns the same for oneDNN's kernels, which transform all weights before they use them.
inline bool DnnlWinogradPays(const ConvGeometry& g, Winograd use) {
  constexpr int64_t kMinTiles = 16;
  return WinogradPays(g, use, kMinTiles);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_RULE_H_
