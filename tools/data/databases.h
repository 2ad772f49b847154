// --backend, and databases as commands name them.
#ifndef DOPPIO_TOOLS_DATA_DATABASES_H_
#define DOPPIO_TOOLS_DATA_DATABASES_H_

#include <memory>
#include <string>

#include "data/source/source.h"

namespace doppio {

// The backend's name in data_param, of a database that can be written: "LMDB" for "lmdb". `what` is
// what messages call it. Throws UsageError.
std::string DatabaseBackend(const std::string& name, const std::string& what);
// Of --backend.
std::string DatabaseBackend();

// A database, or another source of data_param, to be read; `backend` is "lmdb", "idx", ... `phase`
// chooses the half of a source that has both.
std::unique_ptr<Source> OpenDatabase(const std::string& backend, const std::string& path,
                                     Phase phase = TRAIN);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_DATABASES_H_
