// Finds the MPI library that belongs to the launcher of this process.
#ifndef DOPPIO_PARALLEL_MPI_MPI_SEARCH_H_
#define DOPPIO_PARALLEL_MPI_MPI_SEARCH_H_

#include <memory>
#include <string>
#include <vector>

#include "parallel/mpi/mpi_api.h"
#include "parallel/world/launcher.h"

namespace doppio {

struct MpiSearch {
  std::string given;                 // the only file to try; "": try `files`
  std::vector<std::string> files;    // names for the loader, in the order to try them
  std::vector<std::string> folders;  // searched for each file before the loader searches
};

// Returns where to search. `given` is --mpi_library. The launcher's variables determine the order
// of the files: Open MPI's mpirun sets OMPI_COMM_WORLD_RANK, and the mpiexec of MPICH and its
// derivatives sets PMI_RANK. The folders are lib and lib64 next to the first mpirun in PATH.
MpiSearch MpiSearchFor(const std::string& given, const Environment& get);

// Opens the first library that works. Throws UsageError if there is none, or if `given` does not
// work.
std::unique_ptr<MpiApi> OpenMpi(const MpiSearch& search);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_MPI_SEARCH_H_
