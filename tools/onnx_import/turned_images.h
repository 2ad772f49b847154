// Finds the images of Keras's models, which have channels last.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_TURNED_IMAGES_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_TURNED_IMAGES_H_

#include <string>

#include "proto/onnx.pb.h"

namespace doppio {

// Returns true if the node transposes N x H x W x C to N x C x H x W.
bool IsTurn(const onnx::NodeProto& node);
// Returns true if every path from the input passes such a node, and before it only nodes that
// compute each element by itself: a model that first scales images with channels last, for example.
bool IsTurnedAtOnce(const onnx::GraphProto& graph, const std::string& input);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_TURNED_IMAGES_H_
