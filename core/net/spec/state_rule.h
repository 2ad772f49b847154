// Which layers belong to a net in a state: a phase, a level and stages. Also the texts that say why
// a layer is left out.
#ifndef DOPPIO_CORE_NET_SPEC_STATE_RULE_H_
#define DOPPIO_CORE_NET_SPEC_STATE_RULE_H_

#include <string>

#include "proto/net.pb.h"

namespace doppio {

// Returns true if the layer's include and exclude rules let it belong to a net in `state`. The
// layer must not have both.
bool Included(const LayerParameter& layer, const NetState& state);

// Returns true if a rule lets the layer belong to a net in this phase, whatever its level and
// stages.
bool HasPhase(const LayerParameter& layer, Phase phase);

// Returns why Included is false, and what would change it: "it is included only in TRAIN; add one
// for TEST".
std::string WhyLeftOut(const LayerParameter& layer, const NetState& state);

// Returns the start of messages about a net whose layers depend on the state: "in the TEST net: ".
std::string InNet(const NetState& state);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_STATE_RULE_H_
