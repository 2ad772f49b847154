// The JSON format that `time --json` writes and `scale --times` reads.
#ifndef DOPPIO_TOOLS_TIMING_NET_TIMES_H_
#define DOPPIO_TOOLS_TIMING_NET_TIMES_H_

#include <nlohmann/json.hpp>
#include <string>

#include "parallel/reduce/scaling_model.h"
#include "tools/timing/net_timer.h"

namespace doppio {

// `iterations` is the number of timed iterations.
nlohmann::json ToJson(const Net& net, const Timing& timing, int iterations);

// Returns the same for a net that trains `images_per_s` according to somebody else's measurement.
// Backward takes two thirds of an iteration, including the update, and each layer takes a share of
// it in proportion to its multiply-adds. Throws UsageError if no layer has multiply-adds.
nlohmann::json TimesAtRate(const Graph& graph, double images_per_s);

// Converts the times of one rank for the model of scaling. Layers that are timed one by one take
// more or less time in total than in a whole iteration. So each layer keeps its share of the
// backward time, and the parts are scaled to add up to iteration_ms. Throws FileError, naming
// `file`, if `times` is not the output of ToJson for a net that trains.
RankTimes ToRankTimes(const nlohmann::json& times, const std::string& file);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TIMING_NET_TIMES_H_
