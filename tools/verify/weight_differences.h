// Compares the weights of matched layers of two forms.
#ifndef DOPPIO_TOOLS_VERIFY_WEIGHT_DIFFERENCES_H_
#define DOPPIO_TOOLS_VERIFY_WEIGHT_DIFFERENCES_H_

#include <string>
#include <vector>

#include "tools/verify/comparison.h"

namespace doppio {

// An array of a layer that differs, such as "weight", "bias" or "running_mean".
struct ArrayDifference {
  int pair = 0;       // index in Comparison::pairs()
  std::string layer;  // of the first form
  std::string role;
  ValueDifference values;
  // What is known about the difference: "1 of 800 values differs, at [1,0,2,2] 0.5 and 0.53",
  // "transposed", "only in the first form".
  std::string text;
};

// Returns the differences of the arrays of all pairs whose layers have weights in both forms.
std::vector<ArrayDifference> WeightDifferences(const Comparison& comparison, double tolerance);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_VERIFY_WEIGHT_DIFFERENCES_H_
