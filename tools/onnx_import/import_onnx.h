// Makes a net with weights of an ONNX model, which `export`, PyTorch, Keras and other programs
// write. The net computes what the model computes in inference.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_IMPORT_ONNX_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_IMPORT_ONNX_H_

#include <optional>
#include <string>
#include <vector>

#include "proto/net.pb.h"
#include "proto/onnx.pb.h"
#include "proto/preprocessing.pb.h"

namespace doppio {

struct ImportedNet {
  NetParameter net;                  // begins with Input layers; the layers hold their weights
  std::vector<std::string> outputs;  // the blobs of the model's outputs, in its order
  // The inputs that are N x C x H x W here, and N x H x W x C in the model.
  std::vector<std::string> turned_inputs;
  // How images become the first input, if `export` has written the model.
  std::optional<Preprocessing> images;
};

// Returns the net of a model. The first extent of an input that the model leaves open becomes 1.
// External data is read from `folder`. Throws UserError or an ErrorList that names each node that
// Doppio cannot compute, and FileError for wrong constants.
ImportedNet ImportModel(const onnx::ModelProto& model, const std::string& folder);
// Returns how images become `input` by the notes of `export` (docs/export.md), or nothing if the
// model has none. Notes that have another form are ignored.
std::optional<Preprocessing> RecordedImages(const onnx::ModelProto& model,
                                            const std::string& input);
// Reads a file. Throws FileError if it is not an ONNX model.
onnx::ModelProto ReadOnnxModel(const std::string& path);
// Returns the net of the model in a file. Throws as ImportModel does, and FileError if the file is
// not an ONNX model.
ImportedNet ImportOnnxFile(const std::string& path);

// Returns the layers with which a classifier of images is trained, behind its Input layer, which is
// the first: SoftmaxWithLoss and Accuracy, which read a blob "label", replace a softmax (or its
// logarithm) at the end. Throws UserError, which begins with `purpose`, if the model has not one
// input N x C x H x W and one output.
NetParameter ClassifierOf(const ImportedNet& imported, const std::string& purpose);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_IMPORT_ONNX_H_
