// BatchNorm layers whose running statistics are still empty. As in Caffe, such a layer takes 0 for
// every mean and variance in a test, so it multiplies its input by 1 / sqrt(eps), about 316, and a
// deep net overflows.
#ifndef DOPPIO_SOLVERS_UPDATE_EMPTY_STATISTICS_H_
#define DOPPIO_SOLVERS_UPDATE_EMPTY_STATISTICS_H_

#include <string>

#include "core/net/run/net.h"
#include "solvers/trainer/test_pass.h"

namespace doppio {

// For a test before the first training iteration: a hint at the layers of `net` whose statistics
// are empty. "" if all scores are finite, or if there are no such layers.
std::string EmptyStatisticsHint(const TestScores& scores, const Net& net);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_EMPTY_STATISTICS_H_
