// The oldest form of layers, one message of all parameters (proto/legacy.proto), in the current
// form.
#ifndef DOPPIO_CORE_NET_SPEC_UPGRADE_V0_H_
#define DOPPIO_CORE_NET_SPEC_UPGRADE_V0_H_

#include <vector>

#include "core/base/error.h"
#include "core/net/spec/move_field.h"
#include "core/net/spec/prototxt.h"
#include "core/net/spec/warning.h"
#include "proto/legacy.pb.h"
#include "proto/net.pb.h"

namespace doppio {

bool IsPadding(const V1LayerParameter& layer);

// Takes the V0 layers "padding" out of `net`: a convolution or pooling that reads one reads its
// bottom and has its `pad`. `places` are those of `net`. Other readers are mistakes.
void FoldPadding(NetParameter* net, FieldPlaces* places, ErrorCollector* mistakes);

// Fills `to` from the V0 layer in `old`, whose places are `at`. What its type does not know is
// warned about and left out; an unknown type is a mistake.
void UpgradeV0Layer(const V1LayerParameter& old, const FieldPlaces& at, const Rewritten& to,
                    std::vector<Warning>* warnings, ErrorCollector* mistakes);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_UPGRADE_V0_H_
