// Decides which convolutions use Winograd's minimal filtering: Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", CVPR 2016.
#ifndef DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_RULE_H_
#define DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_RULE_H_

#include "core/net/plan/kernel.h"
#include "layers/convolution/conv_geometry.h"

namespace doppio {

// Returns true if Winograd's filtering should compute this convolution in single precision. kAuto
// decides by the extents and not by the clock, so that a resumed training computes the same bits,
// nor by the batch, so that replicas compute what one big batch computes: the transforms of the
// weights pay from 16 tiles of 4x4 outputs per image on.
inline bool WinogradPays(const ConvGeometry& g, Winograd use) {
  const bool fits = g.group == 1 && g.kernel == std::vector<int64_t>{3, 3} &&
                    g.stride == std::vector<int64_t>{1, 1} &&
                    g.dilation == std::vector<int64_t>{1, 1};
  if (!fits || use == Winograd::kOff) return false;
  const int64_t tiles = ((g.output[0] + 3) / 4) * ((g.output[1] + 3) / 4);
  return use == Winograd::kOn || tiles >= 16;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_RULE_H_
