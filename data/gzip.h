// Whole files, unpacked when they are gzip files. Told by the first bytes, not by the name.
#ifndef DOPPIO_DATA_GZIP_H_
#define DOPPIO_DATA_GZIP_H_

#include <string>

namespace doppio {

// Throws FileError when the file is missing, or packed and damaged.
std::string ReadMaybeGzip(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_DATA_GZIP_H_
