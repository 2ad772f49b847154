// Cases whose batch may be divided into parts that one process computes one after the other, by
// iter_size or micro-batches. Unlike replicas, such parts do not know each other's labels.
#ifndef DOPPIO_TESTS_RANDOM_DIVISIBLE_H_
#define DOPPIO_TESTS_RANDOM_DIVISIBLE_H_

#include "tests/random/batch.h"
#include "tests/random/outcome.h"

namespace doppio {

// Returns true if the layer depends on the other samples of its batch, carries a state, or is a
// loss that divides by a number of labels that may differ between the parts.
bool NeedsWholeBatch(const LayerParameter& layer);

// Returns true if a layer reads a loss: the mean over the samples of one pass and one rank.
bool ReadsLoss(const Graph& graph);
bool ReadsLoss(const RandomCase& random_case, const Way& way);

// Returns true if each loss is one number, which is a mean over the samples, and no layer
// reads it. `way` names the folder.
bool LossesAreMeans(const RandomCase& random_case, const Way& way);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_DIVISIBLE_H_
