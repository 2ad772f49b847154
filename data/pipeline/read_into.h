// Reads files into a buffer that only grows, so that reading one file after another does not
// allocate.
#ifndef DOPPIO_DATA_PIPELINE_READ_INTO_H_
#define DOPPIO_DATA_PIPELINE_READ_INTO_H_

#include <cstddef>
#include <string>

namespace doppio {

// Reads the file at `path` into `buffer`. Returns the size of the file in bytes; `buffer` may be
// longer. Throws FileError.
size_t ReadInto(const std::string& path, std::string* buffer);

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_READ_INTO_H_
