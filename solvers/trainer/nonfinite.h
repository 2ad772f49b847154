// Where numbers that are not finite come from: which layer of a net has them first, in the order of
// forward.
#ifndef DOPPIO_SOLVERS_TRAINER_NONFINITE_H_
#define DOPPIO_SOLVERS_TRAINER_NONFINITE_H_

#include <string>

#include "core/net/run/communicator.h"
#include "core/net/run/net.h"

namespace doppio {

struct NonFinite {
  int node = -1;   // of the graph; -1: nothing was found
  int param = -1;  // which of its parameters, or
  int top = -1;    // which of its tops
};

// Runs forward step by step, on all ranks of a world together, and looks at each layer's parameters
// and tops. Running statistics stay as they are. Where an engine hides NaN (a ReLU inside a oneDNN
// kernel does), the layer is one after it, or none.
NonFinite FindNonFinite(Net* net);
// Looks at parameters only.
NonFinite FindNonFiniteWeights(const Net& net);

// The first of what all ranks have found, on all of them. Collective; their nets are the same.
NonFinite FirstOf(const NonFinite& own, const World* world);

// "layer 'norm1' (LRN, net.prototxt:33:1) is the first whose output 'norm1' is not finite"
std::string TextOf(const NonFinite& found, const Net& net);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_NONFINITE_H_
