// A fast parser for lines of metrics.jsonl, because a long run has a million of them.
#ifndef DOPPIO_TOOLS_RUNS_METRIC_LINE_H_
#define DOPPIO_TOOLS_RUNS_METRIC_LINE_H_

#include <string_view>

#include "tools/runs/metrics.h"

namespace doppio {

// Parses a line of training numbers in the exact form that MetricFiles writes. Returns false and
// leaves `*point` undefined for any other line, including valid JSON by another writer. The caller
// must then use a full JSON parser, which gives the same point for lines of both kinds.
bool ScanTrainLine(std::string_view line, TrainPoint* point);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_METRIC_LINE_H_
