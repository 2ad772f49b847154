// Writes files of named float32 arrays for other programs. The files are written atomically.
#ifndef DOPPIO_TOOLS_EXPORT_ARRAY_FILES_H_
#define DOPPIO_TOOLS_EXPORT_ARRAY_FILES_H_

#include <string>
#include <vector>

#include "tools/export/param_names.h"

namespace doppio {

// Writes safetensors (github.com/huggingface/safetensors): a JSON table of types, shapes and
// offsets, followed by the bytes of the arrays. `net` is stored in the metadata. Throws FileError.
void WriteSafetensors(const std::string& path, const std::vector<NamedArray>& arrays,
                      const std::string& net);

// Writes NumPy's .npz: an uncompressed ZIP archive with one .npy file per array. Throws FileError
// if the archive would exceed the limits of ZIP without ZIP64: 4 GiB, 65535 files, and names of 64
// KiB.
void WriteNpz(const std::string& path, const std::vector<NamedArray>& arrays);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EXPORT_ARRAY_FILES_H_
