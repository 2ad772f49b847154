// The batches of a random case.
#ifndef DOPPIO_TESTS_RANDOM_BATCH_H_
#define DOPPIO_TESTS_RANDOM_BATCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "proto/net.pb.h"

namespace doppio {

// Calls `change` with each number of rows that a layer of the phase produces, and stores its
// result. Layers that belong to both phases count for both.
void ChangeBatches(NetParameter* net, Phase phase, const std::function<int64_t(int64_t)>& change);

// Returns the numbers of rows that the layers of the phase produce, in the order of the layers.
std::vector<int64_t> BatchesOf(const NetParameter& net, Phase phase);

// Makes all batches of a training divisible by `parts`, by multiplying them if necessary.
void MakeDivisible(NetParameter* net, int64_t parts);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_BATCH_H_
