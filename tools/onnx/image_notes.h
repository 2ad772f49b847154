// The inputs of a net that hold images, and how a program prepares images for them.
#ifndef DOPPIO_TOOLS_ONNX_IMAGE_NOTES_H_
#define DOPPIO_TOOLS_ONNX_IMAGE_NOTES_H_

#include <map>
#include <string>

#include "core/net/graph/graph.h"

namespace doppio {

// Returns the preprocessing of each input that holds images, by blob. The record of the graph,
// which comes from the weights, is that of the first input; for other inputs, the data layer
// describes it.
std::map<std::string, Preprocessing> ImageInputs(const Graph& graph);

// Returns the notes on images for the metadata of an ONNX file (docs/export.md).
std::map<std::string, std::string> ImageNotes(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMAGE_NOTES_H_
