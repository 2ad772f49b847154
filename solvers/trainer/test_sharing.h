// Decides whether the ranks of a training can share the batches of a test.
#ifndef DOPPIO_SOLVERS_TRAINER_TEST_SHARING_H_
#define DOPPIO_SOLVERS_TRAINER_TEST_SHARING_H_

#include <string>

#include "core/net/run/net.h"

namespace doppio {

// Returns why each rank must run all batches of a test of `net`, "layer 'bn1' updates its running
// statistics in each batch", or "" if the ranks can share them. A layer that changes its state in a
// forward pass needs the batches in their order.
std::string WhyRanksRepeatTest(const Net& net);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_TEST_SHARING_H_
