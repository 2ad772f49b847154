// Looks up the update rule that a solver names and checks the fields that the rule uses.
#ifndef DOPPIO_SOLVERS_UPDATE_RULE_CHECK_H_
#define DOPPIO_SOLVERS_UPDATE_RULE_CHECK_H_

#include <cstddef>
#include <string>
#include <vector>

#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"

namespace doppio {

// Returns true if the solver keeps an average of the weights (WeightAverage).
inline bool AveragesWeights(const SolverParameter& param) { return param.ema_decay() > 0; }
// Returns true if tests during the training run on the averages.
inline bool TestsAverages(const SolverParameter& param) {
  return AveragesWeights(param) && param.ema_test();
}
// Describes what the history holds: "SGD", or "SGD, and averaged weights".
std::string HistoryText(const SolverParameter& param);
// Returns the number of history arenas of the solver, each as large as the learnable parameters:
// those of its rule, none for an unknown one, and one for averaged weights.
int HistorySlots(const SolverParameter& param);
// Returns true if the rule updates matrices as a whole.
bool UpdatesMatrices(const SolverParameter& param);

// Returns the names of all rules, in the order of Rules.
std::vector<std::string> RuleNames();
// Checks the rule's name and the fields that it uses, and returns its index in Rules. Throws all
// mistakes together.
size_t CheckRule(const SolverParameter& param, const FieldPlaces& places);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_RULE_CHECK_H_
