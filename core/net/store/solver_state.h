// The format of .solverstate and .solverstate.h5 files. snapshot.h describes what a state and its
// weights guarantee together.
#ifndef DOPPIO_CORE_NET_STORE_SOLVER_STATE_H_
#define DOPPIO_CORE_NET_STORE_SOLVER_STATE_H_

#include <string>

#include "core/net/store/snapshot.h"

namespace doppio {

// Writes a state to a file that the caller renames when it is complete. Writes `history`, not
// snapshot.history. `history` is on `device`, or consists of plain floats on the host if `device`
// is null.
void WriteSolverState(const std::string& temporary, bool hdf5, const SolverSnapshot& snapshot,
                      const std::vector<Tensor>& history, Device* device);
// Reads a state; the file's content decides the format. Throws FileError if the file is missing, of
// another kind, or damaged (in any byte, if Doppio wrote the file).
SolverSnapshot ReadSolverState(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_SOLVER_STATE_H_
