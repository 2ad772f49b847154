// Nets in the forms that Caffe had before the current one, rewritten in it, so that nothing else
// has to know them.
//
//   V0   layers { layer { name: "c" type: "conv" kernelsize: 3 } bottom: "x" top: "y" }
//   V1   layers { name: "c" type: CONVOLUTION bottom: "x" top: "y" blobs_lr: 1 convolution_param {
//   kernel_size: 3 } } now  layer { name: "c" type: "Convolution" ... param { lr_mult: 1 } ... }
//
// Every field keeps its place in the file, so that later complaints point at what the user wrote.
#ifndef DOPPIO_CORE_NET_SPEC_UPGRADE_H_
#define DOPPIO_CORE_NET_SPEC_UPGRADE_H_

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/net/spec/prototxt.h"
#include "core/net/spec/warning.h"
#include "proto/legacy.pb.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {

struct Upgrade {
  std::string from;              // "V0", "V1"; "" = the net was current
  std::vector<Warning> dropped;  // fields without effect, which Caffe drops as well
};

// Turns `layers` of V0 and V1 into `layer`: names of types, multipliers and sharing into `param`,
// V0's padding layers into the `pad` of those that read them, and the image transforms that stood
// in data_param, image_data_param and window_data_param into transform_param. A net without
// `layers` is left alone. `places` are those of `net`; of a binary file they know nothing. Throws
// all mistakes at once: an unknown V0 type, a padded blob that neither a convolution nor a pooling
// reads, `layers` beside `layer`.
Upgrade UpgradeNet(NetParameter* net, FieldPlaces* places);

// The same for a command that goes on with the net: what is to be said about it, the format first.
std::vector<Warning> UpgradeInMemory(NetParameter* net, FieldPlaces* places);

// Calls f(net, places of the net) for each net written inside a solver.
void ForEachNet(SolverParameter* solver, const FieldPlaces& places,
                const std::function<void(NetParameter*, FieldPlaces*)>& f);

// The layer Input that `input` with input_shape or input_dim stands for. Mistakes in their numbers
// go to `mistakes`.
LayerParameter InputLayer(const NetParameter& net, const FieldPlaces& places,
                          ErrorCollector* mistakes);

// The current name of a V1 type; "" for NONE.
std::string TypeName(V1LayerParameter::LayerType type);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_UPGRADE_H_
