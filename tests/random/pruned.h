// Leaves out the layers about which a relation says nothing, so that it says something about the
// rest of most nets.
#ifndef DOPPIO_TESTS_RANDOM_PRUNED_H_
#define DOPPIO_TESTS_RANDOM_PRUNED_H_

#include <functional>
#include <optional>
#include <string>

#include "tests/random/random_case.h"

namespace doppio {

// Returns the traits of one layer (layer_row.h).
unsigned TraitsOfLayer(const LayerParameter& layer);

// Returns the case without the layers for which `excluded` is true. Their readers read their
// bottoms instead; where the program refuses that, all layers that need them are left out, too.
// Returns nothing, and counts it in the tally, if the rest learns nothing. `folder` is that of the
// case's files.
std::optional<RandomCase> Pruned(const RandomCase& random_case,
                                 const std::function<bool(const LayerParameter&)>& excluded,
                                 const std::string& folder);

// The same for layers that have one of these traits.
std::optional<RandomCase> Pruned(const RandomCase& random_case, unsigned traits,
                                 const std::string& folder);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_PRUNED_H_
