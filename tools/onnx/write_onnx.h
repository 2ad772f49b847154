// Files of ONNX models: IR version 8, opset 13, which runtimes since 2021 read.
#ifndef DOPPIO_TOOLS_ONNX_WRITE_ONNX_H_
#define DOPPIO_TOOLS_ONNX_WRITE_ONNX_H_

#include <map>
#include <string>

#include "tools/onnx/onnx_graph.h"

namespace doppio {

// Atomically. `notes` become metadata. A protobuf file holds less than 2 GiB, so larger constants
// lie in PATH.data beside it, which is written first; `external` puts them there at any size. Says
// whether there is such a file.
bool WriteOnnx(const std::string& path, const OnnxContent& content,
               const std::map<std::string, std::string>& notes, bool external);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_WRITE_ONNX_H_
