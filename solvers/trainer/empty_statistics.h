// Finds BatchNorm layers that use empty running statistics, or the batch's statistics in a test. As
// in Caffe, a layer with empty statistics uses 0 for every mean and variance. It therefore
// multiplies its input by 1 / sqrt(eps), about 316, and the outputs of a deep net overflow.
#ifndef DOPPIO_SOLVERS_TRAINER_EMPTY_STATISTICS_H_
#define DOPPIO_SOLVERS_TRAINER_EMPTY_STATISTICS_H_

#include <string>
#include <vector>

#include "core/net/contract/warning.h"
#include "core/net/run/net.h"
#include "solvers/scores/test_pass.h"

namespace doppio {

// Returns a hint that names the layers of `net` with empty statistics, for a test before the first
// training iteration. Returns "" if all scores are finite or if there are no such layers.
std::string EmptyStatisticsHint(const TestScores& scores, const Net& net);

// Returns a warning that names the layers of the train net that use empty statistics, before the
// first training iteration. Returns "" if there are no such layers.
std::string EmptyStatisticsWarning(const Net& train);

// Returns a warning that names the layers that use the batch's statistics although the phase of the
// net is TEST. Returns nothing if there are no such layers.
std::vector<Warning> StatisticsOfBatches(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_EMPTY_STATISTICS_H_
