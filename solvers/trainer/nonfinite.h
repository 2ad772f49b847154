// Finds the source of non-finite numbers: the first layer of a net, in forward order, that has any.
#ifndef DOPPIO_SOLVERS_TRAINER_NONFINITE_H_
#define DOPPIO_SOLVERS_TRAINER_NONFINITE_H_

#include <cstdint>
#include <string>

#include "core/net/contract/communicator.h"
#include "core/net/run/net.h"

namespace doppio {

// Location of non-finite numbers in a net.
struct NonFinite {
  int node = -1;        // node of the graph; -1: all numbers are finite
  int param = -1;       // index of the parameter in the node; -1: a top
  int top = -1;         // index of the top in the node; -1: a parameter
  int64_t sample = -1;  // of a data source that made the top; -1: unknown
};

// Runs forward step by step and checks the parameters and tops of each layer. Does not change
// running statistics. If an engine hides NaN (a ReLU inside a oneDNN kernel does), the result is a
// later layer, or none. Collective: all ranks of a world must call it.
NonFinite FindNonFinite(Net* net);
// Checks parameters only. Does not run the net.
NonFinite FindNonFiniteWeights(const Net& net);

// Returns the earliest of all ranks' findings, on every rank. Collective; all ranks must have the
// same net.
NonFinite FirstOverRanks(const NonFinite& own, const World* world);

// Returns a text such as "layer 'norm1' (LRN, net.prototxt:33:1) is the first whose output 'norm1'
// is not finite".
std::string Describe(const NonFinite& found, const Net& net);

// Returns a sentence without its full stop that says what may help.
std::string AdviceFor(const NonFinite& found, const Net& net);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_NONFINITE_H_
