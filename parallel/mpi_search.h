// Finds the MPI of a machine: the library that belongs to the launcher of this process.
#ifndef DOPPIO_PARALLEL_MPI_SEARCH_H_
#define DOPPIO_PARALLEL_MPI_SEARCH_H_

#include <memory>
#include <string>
#include <vector>

#include "parallel/launcher.h"
#include "parallel/mpi_api.h"

namespace doppio {

struct MpiSearch {
  std::string given;                 // the only file that is tried; "": the following
  std::vector<std::string> files;    // names for the loader, in their order
  std::vector<std::string> folders;  // looked into for each of the files before the loader looks
};

// `given` is --mpi_library. The order of files is that of the launcher in the environment: mpirun
// of Open MPI sets OMPI_COMM_WORLD_RANK, mpiexec of MPICH and its kin PMI_RANK. The folders are lib
// and lib64 beside the mpirun of PATH.
MpiSearch MpiSearchFor(const std::string& given, const Environment& get);

// Throws UsageError when nothing is found, or what is given is not usable.
std::unique_ptr<MpiApi> OpenMpi(const MpiSearch& search);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_SEARCH_H_
