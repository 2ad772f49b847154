// Files of named float32 arrays for other programs, written atomically.
#ifndef DOPPIO_TOOLS_EXPORT_ARRAY_FILES_H_
#define DOPPIO_TOOLS_EXPORT_ARRAY_FILES_H_

#include <string>
#include <vector>

#include "tools/export/param_names.h"

namespace doppio {

// safetensors (github.com/huggingface/safetensors): a JSON table of types, shapes and offsets, then
// the bytes. `net` goes into its metadata.
void WriteSafetensors(const std::string& path, const std::vector<NamedArray>& arrays,
                      const std::string& net);

// NumPy's .npz: a ZIP archive, not compressed, of one .npy file for each array. FileError for 4 GiB
// and more, which an archive of this kind does not hold.
void WriteNpz(const std::string& path, const std::vector<NamedArray>& arrays);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EXPORT_ARRAY_FILES_H_
