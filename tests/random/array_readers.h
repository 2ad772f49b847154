// Reads files of named arrays in the way of other programs, by the formats' specifications.
#ifndef DOPPIO_TESTS_RANDOM_ARRAY_READERS_H_
#define DOPPIO_TESTS_RANDOM_ARRAY_READERS_H_

#include <map>
#include <string>

#include "core/net/contract/plain_blob.h"

namespace doppio {

using ReadArrays = std::map<std::string, PlainBlob>;

// Reads NumPy's .npz: an archive of files NAME.npy, which are stored without compression. Throws
// Error if it has another form, or if a checksum is wrong.
ReadArrays ReadNpz(const std::string& path);
// Reads safetensors. Throws Error if it has another form.
ReadArrays ReadSafetensors(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_ARRAY_READERS_H_
