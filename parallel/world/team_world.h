// The world of processes that a transport connects.
#ifndef DOPPIO_PARALLEL_WORLD_TEAM_WORLD_H_
#define DOPPIO_PARALLEL_WORLD_TEAM_WORLD_H_

#include <memory>

#include "parallel/world/process_world.h"
#include "parallel/world/team.h"

namespace doppio {

// Collective. Returns a world of all ranks of `transport`, which is watched from now on. Throws
// UnreachableRank.
std::unique_ptr<ProcessWorld> MakeTeamWorld(std::unique_ptr<Transport> transport,
                                            const WatchOptions& watch);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WORLD_TEAM_WORLD_H_
