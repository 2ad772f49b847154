// The rules that a solver may name, and the mistakes in the fields that they use.
#ifndef DOPPIO_SOLVERS_UPDATE_RULE_CHECK_H_
#define DOPPIO_SOLVERS_UPDATE_RULE_CHECK_H_

#include <cstddef>
#include <string>
#include <vector>

#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"

namespace doppio {

// The index in Rules of the rule that the solver names. Throws UserError for an unknown one.
size_t FindRule(const SolverParameter& param, const FieldPlaces& places);

// Copies of the learnable parameters that its rule keeps; 0 for an unknown rule.
int HistorySlots(const SolverParameter& param);

std::vector<std::string> RuleNames();
// What Update's constructor checks first: the rule's name and the fields it uses. Throws all
// mistakes together.
void CheckRule(const SolverParameter& param, const FieldPlaces& places);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_RULE_CHECK_H_
