// Reads the files of trained weights of other programs as layers of a net, and finds the net of
// models/ that they are for.
#ifndef DOPPIO_TOOLS_INIT_PRETRAINED_FILES_H_
#define DOPPIO_TOOLS_INIT_PRETRAINED_FILES_H_

#include <map>
#include <optional>
#include <string>

#include "tools/init/pretrained.h"
#include "tools/onnx_import/import_onnx.h"

namespace doppio {

// Reads .safetensors (github.com/huggingface/safetensors). Returns one layer for each prefix of
// names: "bn1" for "bn1.weight", "bn1.running_mean" and so on, with blobs in Caffe's order. A
// BatchNorm's own factor and bias follow its statistics.
//
// The file does not tell the order of the layers: PyTorch sorts the names. The layers are returned
// in an order in which those of torchvision's nets follow each other: names are compared part by
// part, and parts by their last number before their letters, "denseblock1" before "transition1"
// before "denseblock2". Parts without a number ("downsample") come first, classifiers last.
//
// Throws FileError if the file is damaged or has arrays that are no parameters of layers.
WeightsFile ReadStateDict(const std::string& path);

// Returns the weights of an imported model by its layers.
WeightsFile WeightsOfModel(const NetParameter& net, const std::string& path);
// Returns the model, with losses in place of its softmax, as a net whose input is "data". Its
// images are unknown but for their size. Layers that prepare images before the first linear layer
// do not learn. Throws UserError if it is no classifier of images that ends with a linear layer.
PretrainedNet NetOfModel(const ImportedNet& imported, const std::string& path);

struct ZooMatch {
  ZooNet net;
  // The names in the net by those in the file; empty if they are the same.
  std::map<std::string, std::string> renamed;
  std::string alike;  // another net that fits as well, or ""
};
// Returns the net whose layers, apart from the classifier, have weights in `file`: by their names,
// or else by the order and the shapes of all layers. `name` names the only net to try; "" tries
// all. Returns nothing if none fits, and sets `why` to the first difference from the last one.
std::optional<ZooMatch> MatchZooNet(const WeightsFile& file, const std::string& name,
                                    std::string* why);

// Returns the graph of a net for inference, which `text` describes.
Graph GraphForUse(const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_INIT_PRETRAINED_FILES_H_
