// Lines of metrics.jsonl, of which a long run has a million.
#ifndef DOPPIO_TOOLS_RUNS_METRIC_LINE_H_
#define DOPPIO_TOOLS_RUNS_METRIC_LINE_H_

#include <string_view>

#include "tools/runs/metrics.h"

namespace doppio {

// Reads a line of training numbers in the form in which MetricFiles writes it. Returns false, and
// leaves `point` undefined, for any other line, also for one that another JSON writer has made:
// that is for a whole parser, which gives the same point.
bool ScanTrainLine(std::string_view line, TrainPoint* point);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_METRIC_LINE_H_
