// Looks up the update rule that a solver names and checks the fields that the rule uses.
#ifndef DOPPIO_SOLVERS_UPDATE_RULE_CHECK_H_
#define DOPPIO_SOLVERS_UPDATE_RULE_CHECK_H_

#include <cstddef>
#include <string>
#include <vector>

#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"

namespace doppio {

// Returns the number of history arenas of the solver's rule, each as large as the learnable
// parameters; 0 for an unknown rule.
int HistorySlots(const SolverParameter& param);

// Returns the names of all rules, in the order of Rules.
std::vector<std::string> RuleNames();
// Checks the rule's name and the fields that it uses, and returns its index in Rules. Throws all
// mistakes together.
size_t CheckRule(const SolverParameter& param, const FieldPlaces& places);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_RULE_CHECK_H_
