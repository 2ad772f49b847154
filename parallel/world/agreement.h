// Compares the settings of all ranks, so that ranks that disagree are refused before they exchange
// anything else.
#ifndef DOPPIO_PARALLEL_WORLD_AGREEMENT_H_
#define DOPPIO_PARALLEL_WORLD_AGREEMENT_H_

#include <map>
#include <string>

#include "core/net/contract/communicator.h"

namespace doppio {

// Settings by name that must be the same on all ranks: {"solver base_lr", "0.01"}, {"--bucket_mb",
// "16"}.
using Facts = std::map<std::string, std::string>;

// Collective. Returns "" if the settings of all ranks equal those of rank 0. Otherwise returns the
// same text on all ranks, which names the ranks and settings that differ: "rank 1 on node2: solver
// base_lr is 0.02, on rank 0 it is 0.01". `host` is the name of this rank's machine.
std::string DifferenceFromRankZero(Communicator* control, const std::string& host,
                                   const Facts& own);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WORLD_AGREEMENT_H_
