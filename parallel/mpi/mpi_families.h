// The binary interfaces (ABIs) of MPI libraries.
#ifndef DOPPIO_PARALLEL_MPI_MPI_FAMILIES_H_
#define DOPPIO_PARALLEL_MPI_MPI_FAMILIES_H_

#include <memory>
#include <string>
#include <vector>

#include "parallel/mpi/mpi_api.h"
#include "parallel/mpi/mpi_library.h"

namespace doppio {

struct MpiFamily {
  std::string name;
  std::vector<std::string> files;  // file names of its libraries, the most common first
  // Returns true if the library belongs to this family.
  bool (*has)(const MpiLibrary& library);
  // Returns the library's functions. Throws UsageError if the library lacks a symbol.
  std::unique_ptr<MpiApi> (*bind)(const MpiLibrary& library);
};

const MpiFamily& OpenMpiFamily();
const MpiFamily& MpichFamily();
const MpiFamily& StandardMpiFamily();

// Binds the library's functions and publishes the library. Throws UsageError if the library belongs
// to no family or lacks a symbol.
std::unique_ptr<MpiApi> BindMpi(const MpiLibrary& library);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_MPI_FAMILIES_H_
