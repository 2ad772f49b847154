// The net that is left when training is over: its losses give way to what they compute inside.
#ifndef DOPPIO_TOOLS_TRAIN_DEPLOY_NET_H_
#define DOPPIO_TOOLS_TRAIN_DEPLOY_NET_H_

#include "core/net/spec/spec.h"

namespace doppio {

// SoftmaxWithLoss and InfogainLoss become Softmax, SigmoidCrossEntropyLoss becomes Sigmoid. The new
// top is the loss's second one where it has two, else "prob", or, where several losses would want
// that name, "LAYER/prob".
void ReplaceLosses(NetSpec* net);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_DEPLOY_NET_H_
