// The classifiers of models/, which are inside the program, and nets made of them for other classes
// and other images. Works on their text, so that layout and comments stay.
#ifndef DOPPIO_TOOLS_INIT_ZOO_NET_H_
#define DOPPIO_TOOLS_INIT_ZOO_NET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/source/record.h"
#include "proto/solver.pb.h"

namespace doppio {

// A piece of a net's text: the layer, with the comment in front of it.
struct ZooLayer {
  std::string comment, text;
  LayerParameter param;
};

struct ZooNet {
  std::string name;               // of its folder: "resnet18"
  std::string title;              // its own: "ResNet-18"
  std::vector<ZooLayer> layers;   // without data layers
  TransformationParameter train;  // of its data layers
  SolverParameter solver;         // with the published rate
  int64_t batch = 0;              // that this rate belongs to
};

// Sorted.
std::vector<std::string> ZooNames();
// Throws UsageError, "--net wants ...", for another name.
ZooNet ReadZooNet(const std::string& name);

// What becomes of a net: its last linear layers get `classes` outputs and `suffix` behind their
// names, so that published weights of the others fit. Scores of the best 5 are left out where there
// are no more classes.
void SetClasses(int classes, const std::string& suffix, ZooNet* net);

// `head` is a comment; `data_layers` the text of layers that make "data" and "label".
std::string TrainText(const ZooNet& net, const std::string& head, const std::string& data_layers);
// The net for use: an Input layer of one image, probabilities as "prob".
std::string DeployText(const ZooNet& net, const std::string& head, const ImageShape& input);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_INIT_ZOO_NET_H_
