// Writes ONNX models with IR version 8 and opset 13, which runtimes since 2021 read.
#ifndef DOPPIO_TOOLS_ONNX_WRITE_ONNX_H_
#define DOPPIO_TOOLS_ONNX_WRITE_ONNX_H_

#include <map>
#include <string>

#include "tools/onnx/onnx_graph.h"

namespace doppio {

// Writes `content` to `path` atomically; `notes` become metadata. If the constants exceed
// protobuf's limit of 2 GiB, or if `external` is set, writes the large ones to PATH.data beside the
// model, before the model. Returns true if it has written PATH.data.
bool WriteOnnx(const std::string& path, const OnnxContent& content,
               const std::map<std::string, std::string>& notes, bool external);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_WRITE_ONNX_H_
