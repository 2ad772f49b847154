// Upgrades the oldest format of layers, which has one message for all parameters
// (proto/legacy.proto), to the current format.
#ifndef DOPPIO_CORE_NET_SPEC_UPGRADE_V0_H_
#define DOPPIO_CORE_NET_SPEC_UPGRADE_V0_H_

#include <vector>

#include "core/base/error.h"
#include "core/net/contract/warning.h"
#include "core/net/spec/move_field.h"
#include "core/net/spec/prototxt.h"
#include "proto/legacy.pb.h"
#include "proto/net.pb.h"

namespace doppio {

// Returns true for a V0 layer of type "padding".
bool IsPadding(const V1LayerParameter& layer);

// Removes the V0 layers "padding" from `net`: a convolution or pooling that reads such a layer gets
// the layer's bottom and `pad`. Adds other readers to `mistakes`. `places` are those of `net`.
void FoldPadding(NetParameter* net, FieldPlaces* places, ErrorCollector* mistakes);

// Fills `to` from the V0 layer in `old`, whose places are `at`. Omits fields that its type does not
// have, with a warning. Adds an unknown type to `mistakes`.
void UpgradeV0Layer(const V1LayerParameter& old, const FieldPlaces& at, const Rewritten& to,
                    std::vector<Warning>* warnings, ErrorCollector* mistakes);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_UPGRADE_V0_H_
