// A file's bytes into a buffer that only ever grows, so that reading file after file does not
// allocate.
#ifndef DOPPIO_DATA_PIPELINE_READ_INTO_H_
#define DOPPIO_DATA_PIPELINE_READ_INTO_H_

#include <cstddef>
#include <string>

namespace doppio {

// Returns how many bytes the file has: the first ones of `buffer`. Throws FileError.
size_t ReadInto(const std::string& path, std::string* buffer);

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_READ_INTO_H_
