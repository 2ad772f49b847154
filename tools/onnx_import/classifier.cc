// The classifier of images that an imported model is.
#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/tensor/shape.h"
#include "tools/onnx_import/import_onnx.h"

namespace doppio {
namespace {

LayerParameter ScoreLayer(const std::string& type, const std::string& scores) {
  LayerParameter layer;
  layer.set_name(type == "Accuracy" ? "accuracy" : "loss");
  layer.set_type(type);
  layer.add_bottom(scores);
  layer.add_bottom("label");
  layer.add_top(layer.name());
  if (type == "Accuracy") layer.add_include()->set_phase(TEST);
  return layer;
}

// Removes the softmax that computes `output` at the end of the net, or its logarithm. Returns the
// scores that it reads, or `output` if there is none.
std::string TakeSoftmax(const std::string& output, NetParameter* net) {
  const auto computes = [&](int from_end, const std::string& type, const std::string& blob) {
    const int layer = net->layer_size() - from_end;
    return layer >= 0 && net->layer(layer).type() == type && net->layer(layer).top(0) == blob;
  };
  int last = 0;
  if (computes(1, "Softmax", output)) last = 1;
  if (computes(1, "Log", output) &&
      computes(2, "Softmax", net->layer(net->layer_size() - 1).bottom(0)))
    last = 2;
  if (last == 0) return output;
  std::string scores = net->layer(net->layer_size() - last).bottom(0);
  for (int i = 0; i < last; ++i) net->mutable_layer()->RemoveLast();
  return scores;
}

// Gives layers and blobs other names than those of the layers around a classifier. The input keeps
// its name.
void FreeNames(NetParameter* net, std::string* scores) {
  const std::set<std::string> taken = {"data", "label",   "loss",    "accuracy",
                                       "prob", "prepare", "prepared"};
  const std::string input = net->layer(0).top(0);
  const auto rename = [&](std::string* name) {
    if (*name != input && taken.count(*name) > 0) *name += "_of_model";
  };
  for (LayerParameter& layer : *net->mutable_layer()) {
    rename(layer.mutable_name());
    for (std::string& blob : *layer.mutable_bottom()) rename(&blob);
    for (std::string& blob : *layer.mutable_top()) rename(&blob);
  }
  rename(scores);
}

}  // namespace

NetParameter ClassifierOf(const ImportedNet& imported, const std::string& purpose) {
  const auto& layers = imported.net.layer();
  const auto is_input = [](const LayerParameter& layer) { return layer.type() == "Input"; };
  const int inputs = static_cast<int>(std::count_if(layers.begin(), layers.end(), is_input));
  const int outputs = static_cast<int>(imported.outputs.size());
  const std::string needed =
      purpose + " is for models with one input of images, N x C x H x W, and one output; ";
  if (inputs != 1 || outputs != 1) {
    const auto number = [](int count, const std::string& what) {
      return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
    };
    throw UserError({}, needed + "this one has " + number(inputs, "input") + " and " +
                            number(outputs, "output"));
  }
  const auto& dims = layers[0].input_param().shape(0).dim();
  if (dims.size() != 4) {
    throw UserError({}, needed + "the input of this one is " +
                            Shape(std::vector<int64_t>(dims.begin(), dims.end())).ToString());
  }
  NetParameter net = imported.net;
  std::string scores = TakeSoftmax(imported.outputs[0], &net);
  FreeNames(&net, &scores);
  for (const char* type : {"SoftmaxWithLoss", "Accuracy"})
    *net.add_layer() = ScoreLayer(type, scores);
  return net;
}

}  // namespace doppio
