// Upgrades nets from Caffe's old formats to the current one, so that the rest of the program need
// not know the old formats.
//
//   V0   layers { layer { name: "c" type: "conv" kernelsize: 3 } bottom: "x" top: "y" }
//   V1   layers { name: "c" type: CONVOLUTION bottom: "x" top: "y" blobs_lr: 1
//                 convolution_param { kernel_size: 3 } }
//   now  layer { name: "c" type: "Convolution" ... param { lr_mult: 1 } ... }
//
// Every field keeps its place in the file, so that later messages refer to what the user wrote.
#ifndef DOPPIO_CORE_NET_SPEC_UPGRADE_H_
#define DOPPIO_CORE_NET_SPEC_UPGRADE_H_

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/net/contract/warning.h"
#include "core/net/spec/prototxt.h"
#include "proto/legacy.pb.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {

// The result of an upgrade.
struct Upgrade {
  std::string from;              // "V0" or "V1"; "" if the net has the current format
  std::vector<Warning> dropped;  // fields without effect, which Caffe drops, too
};

// Converts V0 and V1 `layers` to `layer`. Converts the names of types, moves multipliers and
// sharing to `param`, moves the padding of V0's padding layers to the `pad` of the layers that read
// them, and moves the image transforms in data_param, image_data_param and window_data_param to
// transform_param. Does not change a net without `layers`. `places` are those of `net`, and are
// empty for a binary file. Throws all mistakes at once: an unknown V0 type, a padded blob that a
// layer other than a convolution or pooling reads, or `layers` together with `layer`.
Upgrade UpgradeNet(NetParameter* net, FieldPlaces* places);

// Calls UpgradeNet and returns the warnings about the net, the one about its format first. For
// commands that continue with the upgraded net.
std::vector<Warning> UpgradeInMemory(NetParameter* net, FieldPlaces* places);

// Calls f(net, places of the net) for each net inside a solver.
void ForEachNet(SolverParameter* solver, const FieldPlaces& places,
                const std::function<void(NetParameter*, FieldPlaces*)>& f);

// Returns true if `input` stands for an Input layer. Where it has no shapes, and Input layers
// already create all these blobs, it only repeats their names, and Caffe ignores it.
bool NeedsInputLayer(const NetParameter& net);

// Returns the Input layer that is equivalent to `input` with input_shape or input_dim. Adds wrong
// numbers of these fields to `mistakes`.
LayerParameter InputLayer(const NetParameter& net, const FieldPlaces& places,
                          ErrorCollector* mistakes);

// Returns the current name of a V1 type; "" for NONE.
std::string TypeName(V1LayerParameter::LayerType type);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_UPGRADE_H_
