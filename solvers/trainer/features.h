// The features of a training, for the table of combinations.
#ifndef DOPPIO_SOLVERS_TRAINER_FEATURES_H_
#define DOPPIO_SOLVERS_TRAINER_FEATURES_H_

#include "core/net/contract/combinations.h"
#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer_options.h"

namespace doppio {

// Returns the features that a solver's file asks for.
Features FeaturesOf(const SolverSpec& spec);
// Returns those and the features that the options ask for. Those of the layers are not known before
// the net's graph. Throws UserError for a wrong loss scale.
Features FeaturesOf(const SolverSpec& spec, const TrainerOptions& options);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_FEATURES_H_
