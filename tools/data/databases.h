// The flag --backend, and opening the databases that commands name.
#ifndef DOPPIO_TOOLS_DATA_DATABASES_H_
#define DOPPIO_TOOLS_DATA_DATABASES_H_

#include <memory>
#include <string>

#include "data/record/source.h"

namespace doppio {

// Returns the name in data_param of a backend that can be written: "LMDB" for "lmdb". `what` names
// the setting in messages. Throws UsageError for an unknown backend.
std::string DatabaseBackend(const std::string& name, const std::string& what = "--backend");

// Opens a database or another source of data_param for reading. `backend` is "lmdb", "idx", ... in
// either case. `phase` selects the half of a source that contains training and test data. Throws
// UsageError for an unknown backend, FileError if the source cannot be opened.
std::unique_ptr<Source> OpenDatabase(const std::string& backend, const std::string& path,
                                     Phase phase = TRAIN);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_DATABASES_H_
