// Says what typically causes a difference like that of a pair of layers.
#ifndef DOPPIO_TOOLS_VERIFY_FIND_CAUSE_H_
#define DOPPIO_TOOLS_VERIFY_FIND_CAUSE_H_

#include <string>
#include <vector>

#include "tools/verify/weight_differences.h"

namespace doppio {

// Returns the causes that fit the difference of `first`, the first pair that differs, whose layers
// get the same values: differences of weights, of settings, of the sizes of windows, at borders,
// and of each channel. Returns nothing if none fits.
std::vector<std::string> FindCauses(const Comparison& comparison, const PointPair& first,
                                    const std::vector<ArrayDifference>& weights, double tolerance);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_VERIFY_FIND_CAUSE_H_
