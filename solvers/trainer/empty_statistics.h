// Finds BatchNorm layers whose running statistics are empty. As in Caffe, such a layer uses 0 for
// every mean and variance in a test. It therefore multiplies its input by 1 / sqrt(eps), about 316,
// and the outputs of a deep net overflow.
#ifndef DOPPIO_SOLVERS_TRAINER_EMPTY_STATISTICS_H_
#define DOPPIO_SOLVERS_TRAINER_EMPTY_STATISTICS_H_

#include <string>

#include "core/net/run/net.h"
#include "solvers/trainer/test_pass.h"

namespace doppio {

// Returns a hint that names the layers of `net` with empty statistics, for a test before the first
// training iteration. Returns "" if all scores are finite or if there are no such layers.
std::string EmptyStatisticsHint(const TestScores& scores, const Net& net);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_EMPTY_STATISTICS_H_
