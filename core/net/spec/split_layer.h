// Layers into which forks of Caffe put several, read as these, so that nothing behind the file has
// to know them. What is added works in place on the layer's top and is named after it:
//
//   BatchNorm     scale_bias: true, scale_filler or bias_filler    a Scale     NAME_scale
//                 (NVCaffe); use_weight_bias: true (Intel Caffe)
//   Convolution   fusion_type: SUM_FUSION (Intel Caffe)            an Eltwise  NAME_sum
//                 adds bottom 1 to what is made of bottom 0
//   BatchNorm, Convolution, Deconvolution, InnerProduct
//                 relu: true (Intel Caffe)                         a ReLU      NAME_relu
#ifndef DOPPIO_CORE_NET_SPEC_SPLIT_LAYER_H_
#define DOPPIO_CORE_NET_SPEC_SPLIT_LAYER_H_

#include <vector>

#include "core/net/spec/spec.h"
#include "core/net/spec/warning.h"

namespace doppio {

// The layers that `layer` stands for, in order; itself where it is one layer. `param` entries and
// blobs go where they belong. Throws where fields contradict each other.
std::vector<LayerSpec> SplitLayer(LayerSpec layer);

// What is to be said about a net with such layers: one warning for each field that splits some, at
// the first of them.
std::vector<Warning> SplitWarnings(const NetParameter& net, const FieldPlaces& places);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_SPLIT_LAYER_H_
