// The classifiers of models/, which are embedded in the program, and copies of them adapted to
// other classes and image sizes. Works on the files' text, so that layout and comments are kept.
#ifndef DOPPIO_TOOLS_INIT_ZOO_NET_H_
#define DOPPIO_TOOLS_INIT_ZOO_NET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/record/record.h"
#include "proto/solver.pb.h"

namespace doppio {

// One layer of a net's text, and the comment before it.
struct ZooLayer {
  std::string comment, text;
  LayerParameter param;
};

struct ZooNet {
  std::string name;               // name of its folder: "resnet18"
  std::string title;              // the net's own name: "ResNet-18"
  std::vector<ZooLayer> layers;   // all but data layers
  TransformationParameter train;  // transformation of its training data
  SolverParameter solver;         // has the published learning rate
  int64_t batch = 0;              // batch size that the published learning rate is for
};

// Returns the names of all nets, sorted.
std::vector<std::string> ZooNames();
// Reads a net. Throws UsageError, "--net needs ...", for an unknown name.
ZooNet ReadZooNet(const std::string& name);

// Returns the index of the last linear layer before each loss, in the order of the losses. Throws
// UserError for a net that has none.
std::vector<size_t> ClassifiersOf(const ZooNet& net);

// Adapts a net: each last linear layer gets `classes` outputs, and `suffix` is appended to its name
// so that published weights fit all other layers. Removes top-k accuracies with k >= `classes`.
void SetClasses(int classes, const std::string& suffix, ZooNet* net);

// Sets loss_param of each loss of the net to the fields in `text`, such as "class_counts: [3, 4]".
void SetLossParam(const std::string& text, ZooNet* net);

// Returns the net for training. `head` is a comment, and `data_layers` is the text of layers that
// make the blobs "data" and "label".
std::string TrainText(const ZooNet& net, const std::string& head, const std::string& data_layers);
// Returns the net for inference: it has an Input layer for one image, and its output "prob" has the
// probabilities.
std::string DeployText(const ZooNet& net, const std::string& head, const ImageShape& input);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_INIT_ZOO_NET_H_
