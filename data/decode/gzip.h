// Reads whole files and decompresses gzip files. The first bytes identify a gzip file, not its
// name.
#ifndef DOPPIO_DATA_DECODE_GZIP_H_
#define DOPPIO_DATA_DECODE_GZIP_H_

#include <cstdint>
#include <string>

#include "core/base/file_limits.h"

namespace doppio {

// Returns the contents of the file, decompressed if it is a gzip file. Throws FileError if the file
// is missing, is damaged gzip data, or decompresses to more than `max_bytes` bytes.
std::string ReadMaybeGzip(const std::string& path, int64_t max_bytes = kMaxUnpackedBytes);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_GZIP_H_
