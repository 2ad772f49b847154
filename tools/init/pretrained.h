// Trained weights from which `init` starts a project, and what they change in it: the net, the
// plan, the preparation of images and the learning rates.
#ifndef DOPPIO_TOOLS_INIT_PRETRAINED_H_
#define DOPPIO_TOOLS_INIT_PRETRAINED_H_

#include <string>
#include <vector>

#include "core/net/store/weights.h"
#include "tools/init/init_plan.h"
#include "tools/nets/preparation.h"

namespace doppio {

// The name of the file of weights in a project.
constexpr char kStartWeights[] = "start.caffemodel";
// How many times the rate of trained layers a new layer gets.
constexpr int kNewLayerFactor = 10;

struct PretrainedNet {
  ZooNet net;
  std::string origin;  // "models/resnet18", or the name of the file that holds the net
  // The layers have the names of `net`; the path is that of the user's file.
  WeightsFile weights;
  int channels = 3;  // of the net's input
  // How images become the net's input: order of channels, mean, scale and sizes. Without a height,
  // the net takes images of any size.
  Preprocessing images;
  // Further factors of the net's input channels after mean and scale, or empty.
  std::vector<float> factors;
  std::vector<std::string> notes;  // remarks to show to the user
};

// Reads a .caffemodel, .caffemodel.h5, .safetensors or .onnx file. `net` is "" or names the net of
// models/ that the weights are for. `wishes` takes precedence over the file's record of images.
// Throws UserError or FileError if the file holds no weights for a net.
PretrainedNet ReadPretrained(const std::string& path, const std::string& net,
                             const ImageWishes& wishes);

// Sets what is learned at which rate: new last layers at kNewLayerFactor times the rate of the
// others. The layer `freeze`, the norms and factors behind it and all layers before it in the file
// do not learn, and their BatchNorm layers use the stored statistics; "all" is every layer but the
// last ones; "" is none. Throws UsageError for an unknown layer.
void SetRates(const std::string& freeze, PretrainedNet* start);

// Lets `facts`, about images that data of this kind ("folder", "CIFAR") holds, have the channels
// and means that the weights want. If the data has the channels in another order, or the weights
// want factors by channel, adds a layer to `start` that converts. Throws FileError for data that
// cannot be converted.
void TakeImagesOf(const std::string& kind, PretrainedNet* start, ImageFacts* facts);

// Sets the net of a plan. Returns `wishes` with the size of input that the weights want.
InitWishes UsePretrained(const PretrainedNet& start, InitWishes wishes, InitPlan* plan);

// Returns the solver's lines about the file of weights in the project's folder.
std::string StartText(const std::string& folder);
// Returns the bytes of that file. `deploy` is the text of the project's net. Throws UserError if
// the weights do not fit it.
std::string StartWeights(const PretrainedNet& start, const std::string& deploy);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_INIT_PRETRAINED_H_
