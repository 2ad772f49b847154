// The binary interfaces that MPI libraries come with.
#ifndef DOPPIO_PARALLEL_MPI_FAMILIES_H_
#define DOPPIO_PARALLEL_MPI_FAMILIES_H_

#include <memory>
#include <string>
#include <vector>

#include "parallel/mpi_api.h"
#include "parallel/mpi_library.h"

namespace doppio {

struct MpiFamily {
  std::string name;
  std::vector<std::string> files;  // names of its libraries, those of most machines first
  bool (*has)(const MpiLibrary& library);
  // Throws UsageError when the library lacks something.
  std::unique_ptr<MpiApi> (*bind)(const MpiLibrary& library);
};

const MpiFamily& OpenMpiFamily();
const MpiFamily& MpichFamily();
const MpiFamily& StandardMpiFamily();

// The functions of a library, which is then published. Throws UsageError when no family has the
// library, or the library lacks something.
std::unique_ptr<MpiApi> BindMpi(const MpiLibrary& library);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_FAMILIES_H_
