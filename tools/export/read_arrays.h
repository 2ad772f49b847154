// Reads files of named arrays of floats, as `export`, NumPy and PyTorch write them.
#ifndef DOPPIO_TOOLS_EXPORT_READ_ARRAYS_H_
#define DOPPIO_TOOLS_EXPORT_READ_ARRAYS_H_

#include <map>
#include <string>

#include "core/net/graph/graph.h"
#include "core/net/store/weights.h"

namespace doppio {

using NamedBlobs = std::map<std::string, PlainBlob>;

// Reads .safetensors (github.com/huggingface/safetensors) without the counters of batches that
// PyTorch stores. Throws FileError if the file is damaged or has elements that are not F32, F64,
// F16 or BF16.
NamedBlobs ReadSafetensorsArrays(const std::string& path);

// Reads NumPy's .npz, whose arrays may be compressed. Throws FileError if the archive is damaged or
// has elements that are not little-endian floats.
NamedBlobs ReadNpzArrays(const std::string& path);

// Reads a file of weights of any format for a net. Arrays in .safetensors and .npz have the names
// that NamedArrays (tools/export/param_names.h) gives them. Throws FileError, and in these formats
// also for a parameter of the net that the file lacks.
WeightsFile ReadWeightsFor(const Graph& graph, const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EXPORT_READ_ARRAYS_H_
