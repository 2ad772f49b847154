// What `time --json` writes, and `scale --times` reads.
#ifndef DOPPIO_TOOLS_TRAIN_NET_TIMES_H_
#define DOPPIO_TOOLS_TRAIN_NET_TIMES_H_

#include <nlohmann/json.hpp>
#include <string>

#include "parallel/reduce/scaling_model.h"
#include "tools/train/net_timer.h"

namespace doppio {

// `iterations`: that were timed.
nlohmann::json ToJson(const Net& net, const Timing& timing, int iterations);

// One rank's iteration as the model of scaling wants it. Layers that are timed one by one take
// longer together than in a whole iteration, or shorter; they keep their shares of backward, and
// all parts together last iteration_ms. Throws FileError, with `file`, where `times` is not what
// ToJson makes of a net that trains.
RankTimes ToRankTimes(const nlohmann::json& times, const std::string& file);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_NET_TIMES_H_
