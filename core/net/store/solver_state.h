// The bytes of .solverstate and .solverstate.h5 files; what they promise together with the weights
// is snapshot.h's.
#ifndef DOPPIO_CORE_NET_STORE_SOLVER_STATE_H_
#define DOPPIO_CORE_NET_STORE_SOLVER_STATE_H_

#include <string>

#include "core/net/store/snapshot.h"

namespace doppio {

// To a file that the caller renames when it is complete. `history` is what is written as such; it
// is on `device`, or plain floats on the host where that is null.
void WriteSolverState(const std::string& temporary, bool hdf5, const SolverSnapshot& snapshot,
                      const std::vector<Tensor>& history, Device* device);
// By content. FileError when the file is missing, damaged (any byte, if Doppio wrote it) or of
// another kind.
SolverSnapshot ReadSolverState(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_SOLVER_STATE_H_
