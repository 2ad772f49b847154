// Converts a training net into a deploy net by replacing its losses.
#ifndef DOPPIO_TOOLS_NETS_DEPLOY_NET_H_
#define DOPPIO_TOOLS_NETS_DEPLOY_NET_H_

#include "core/net/spec/spec.h"

namespace doppio {

// Replaces each loss with the layer whose result the loss computes internally
// (LayerType::DeploysAs): SoftmaxWithLoss becomes Softmax. The new top takes the name
// of the loss's second top. If the loss has only one top, the new top is named "prob", or
// "LAYER/prob" if that name is taken or several losses would need it.
void ReplaceLosses(NetSpec* net);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_DEPLOY_NET_H_
