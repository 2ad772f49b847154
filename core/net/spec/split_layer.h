// Splits layers that forks of Caffe fuse, so that the rest of the program need not know them. Each
// added layer works in place on the original layer's top, and its name is derived from the original
// name:
//
//   BatchNorm     scale_bias: true, scale_filler or bias_filler    a Scale     NAME_scale
//                 (NVCaffe); use_weight_bias: true (Intel Caffe)
//   Convolution   fusion_type: SUM_FUSION (Intel Caffe)            an Eltwise  NAME_sum
//                 adds bottom 1 to the result of bottom 0
//   BatchNorm, Convolution, Deconvolution, InnerProduct
//                 relu: true (Intel Caffe)                         a ReLU      NAME_relu
#ifndef DOPPIO_CORE_NET_SPEC_SPLIT_LAYER_H_
#define DOPPIO_CORE_NET_SPEC_SPLIT_LAYER_H_

#include <vector>

#include "core/net/contract/warning.h"
#include "core/net/spec/spec.h"

namespace doppio {

// Returns true if `relu: true` adds a ReLU to the layer. Its relu_param is then that of the ReLU.
bool HasFusedRelu(const LayerParameter& layer);

// Returns the layers for which `layer` stands, in order; a single layer is returned unchanged.
// Assigns `param` entries and blobs to the new layers. Throws UserError if fields contradict each
// other.
std::vector<LayerSpec> SplitLayer(LayerSpec layer);

// Returns the warnings for a net with such layers: one for each field that splits layers, at the
// first of these layers.
std::vector<Warning> SplitWarnings(const NetParameter& net, const FieldPlaces& places);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_SPLIT_LAYER_H_
