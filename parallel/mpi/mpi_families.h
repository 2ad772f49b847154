// The binary interfaces (ABIs) of MPI libraries.
#ifndef DOPPIO_PARALLEL_MPI_MPI_FAMILIES_H_
#define DOPPIO_PARALLEL_MPI_MPI_FAMILIES_H_

#include <memory>
#include <string>
#include <vector>

#include "parallel/mpi/mpi_api.h"
#include "parallel/mpi/mpi_library.h"

namespace doppio {

// Libraries with one binary interface.
enum class MpiFamily { kOpenMpi, kMpich, kStandard };

// Returns the file names of the family's libraries, the most common first.
std::vector<std::string> FilesOf(MpiFamily family);

// Binds the library's functions and publishes the library. Throws UsageError if the library belongs
// to no family or lacks a symbol.
std::unique_ptr<MpiApi> BindMpi(const MpiLibrary& library);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_MPI_FAMILIES_H_
