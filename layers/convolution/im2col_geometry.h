// The windows that Im2col unfolds, from convolution_param.
#ifndef DOPPIO_LAYERS_CONVOLUTION_IM2COL_GEOMETRY_H_
#define DOPPIO_LAYERS_CONVOLUTION_IM2COL_GEOMETRY_H_

#include "layers/convolution/conv_geometry.h"

namespace doppio {

// As Convolution reads it, but there are no outputs and no groups: what the file says of them has
// no effect, as in Caffe.
inline ConvGeometry ReadIm2colGeometry(const LayerSpec& spec, const Shape& bottom) {
  LayerSpec windows = spec;
  windows.param.mutable_convolution_param()->set_num_output(1);
  windows.param.mutable_convolution_param()->set_group(1);
  return ReadConvGeometry(windows, bottom, false);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_IM2COL_GEOMETRY_H_
