// Whole files, unpacked when they are gzip files. Told by the first bytes, not by the name.
#ifndef DOPPIO_DATA_DECODE_GZIP_H_
#define DOPPIO_DATA_DECODE_GZIP_H_

#include <cstdint>
#include <string>

#include "core/base/file_limits.h"

namespace doppio {

// Throws FileError when the file is missing, or packed and damaged, or more than `most` bytes come
// out of it.
std::string ReadMaybeGzip(const std::string& path, int64_t most = kMostUnpackedBytes);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_GZIP_H_
