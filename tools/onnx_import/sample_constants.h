// Constants that models repeat for each sample of a batch, such as the class token of a ViT.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_SAMPLE_CONSTANTS_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_SAMPLE_CONSTANTS_H_

#include "tools/onnx_import/import_node.h"

namespace doppio {

// Returns `constant` for one sample, if it has the extent of `value` along the axis of the samples
// and is the same for each sample; or else `constant` itself.
OnnxArray OneSample(const OnnxArray& constant, const ImportValue& value);
// Adds layers that compute the values of `constant`, whose axis 0 has the extent 1, for each sample
// of the net's first input. With `trains`, they are weights that a training changes. Throws
// UserError if it has another extent or no axes, or if the model has no input with several axes.
ImportValue PerSample(const ImportNode& node, const OnnxArray& constant, bool trains);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_SAMPLE_CONSTANTS_H_
