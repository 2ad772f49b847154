#include "tools/init/zoo_net.h"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/text/nearest.h"
#include "core/net/spec/prototxt.h"
#include "tools/cli/embedded_files.h"

namespace doppio {
namespace {

const char kNetFile[] = "/train_val.prototxt";

const std::string& ZooFile(const std::string& path) {
  const auto file = ModelFiles().find(path);
  DOPPIO_CHECK(file != ModelFiles().end(), "no model file " + path);
  return file->second;
}

bool BeginsWith(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

bool Makes(const ZooLayer& layer, const std::string& blob) {
  const auto& tops = layer.param.top();
  return std::find(tops.begin(), tops.end(), blob) != tops.end();
}

bool IsLoss(const ZooLayer& layer) { return layer.param.type() == "SoftmaxWithLoss"; }

// Splits a net's text into layers. In the files of models/, "layer {" and the closing brace are at
// the start of a line, or both are on one line.
std::vector<ZooLayer> SplitLayers(const std::string& path, const std::string& text) {
  std::vector<ZooLayer> layers;
  std::istringstream lines(text);
  ZooLayer next;
  bool open = false;
  for (std::string line; std::getline(lines, line);) {
    if (!open && BeginsWith(line, "#")) next.comment += line + "\n";
    if (!open && line.empty()) next.comment.clear();
    open = open || BeginsWith(line, "layer {");
    if (!open) continue;
    next.text += line + "\n";
    open = line != "}" && !(BeginsWith(line, "layer {") && EndsWith(line, "}"));
    if (open) continue;
    NetParameter net;
    ParseText(next.text, path, &net);
    next.param = net.layer(0);
    layers.push_back(std::move(next));
    next = ZooLayer();
  }
  return layers;
}

// Returns the index of the linear layer whose output the loss with index `loss` reads, possibly
// through activations and pooling.
size_t ClassifierBefore(size_t loss, const ZooNet& net) {
  std::string blob = net.layers[loss].param.bottom(0);
  for (size_t i = loss; i-- > 0;) {
    const ZooLayer& layer = net.layers[i];
    if (!Makes(layer, blob)) continue;
    if (layer.param.type() == "InnerProduct" || layer.param.type() == "Convolution") return i;
    if (layer.param.bottom_size() != 1) break;
    blob = layer.param.bottom(0);
  }
  throw UserError({}, net.name, " does not end with a linear layer that has an output per class");
}

void Replace(const std::string& pattern, const std::string& by, std::string* text) {
  *text =
      std::regex_replace(*text, std::regex(pattern), by, std::regex_constants::format_first_only);
}

std::string LayerText(const ZooLayer& layer) {
  return (layer.comment.empty() ? "" : "\n" + layer.comment) + layer.text;
}

// Returns the layers that the input of the last loss depends on.
std::vector<const ZooLayer*> LayersInUse(const ZooNet& net) {
  const auto loss = std::find_if(net.layers.rbegin(), net.layers.rend(), IsLoss);
  std::set<std::string> needed = {loss->param.bottom(0)};
  std::vector<const ZooLayer*> kept;
  for (auto layer = loss + 1; layer != net.layers.rend(); ++layer) {
    const auto& tops = layer->param.top();
    const bool used = std::any_of(tops.begin(), tops.end(),
                                  [&](const std::string& top) { return needed.count(top) > 0; });
    if (!used) continue;
    needed.insert(layer->param.bottom().begin(), layer->param.bottom().end());
    kept.push_back(&*layer);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace

std::vector<std::string> ZooNames() {
  std::vector<std::string> names;
  for (const auto& [path, text] : ModelFiles()) {
    if (EndsWith(path, kNetFile)) names.push_back(path.substr(0, path.find('/')));
  }
  return names;
}

ZooNet ReadZooNet(const std::string& name) {
  const std::vector<std::string> names = ZooNames();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    std::string known;
    for (const std::string& one : names) known += (known.empty() ? "" : ", ") + one;
    throw UsageError("--net needs one of ", known, "; got '", name, "'", DidYouMean(name, names));
  }
  ZooNet net;
  net.name = name;
  const std::string path = name + kNetFile;
  NetParameter whole;
  ParseText(ZooFile(path), path, &whole);
  net.title = whole.name();
  int64_t batch = 0;
  for (ZooLayer& layer : SplitLayers(path, ZooFile(path))) {
    if (layer.param.type() != "Data") {
      net.layers.push_back(std::move(layer));
    } else if (layer.param.include(0).phase() == TRAIN) {
      net.train = layer.param.transform_param();
      batch = layer.param.data_param().batch_size();
    }
  }
  ParseText(ZooFile(name + "/solver.prototxt"), name + "/solver.prototxt", &net.solver);
  net.batch = batch * net.solver.iter_size();
  return net;
}

std::vector<size_t> ClassifiersOf(const ZooNet& net) {
  std::vector<size_t> classifiers;
  for (size_t i = 0; i < net.layers.size(); ++i) {
    if (IsLoss(net.layers[i])) classifiers.push_back(ClassifierBefore(i, net));
  }
  return classifiers;
}

void SetClasses(int classes, const std::string& suffix, ZooNet* net) {
  for (const size_t i : ClassifiersOf(*net)) {
    std::string* const text = &net->layers[i].text;
    Replace("num_output: [0-9]+", "num_output: " + std::to_string(classes), text);
    Replace("name: \"([^\"]*)\"", "name: \"$1" + suffix + "\"", text);
  }
  const auto no_score = [classes](const ZooLayer& layer) {
    return layer.param.type() == "Accuracy" && layer.param.accuracy_param().top_k() > 1 &&
           static_cast<int>(layer.param.accuracy_param().top_k()) >= classes;
  };
  net->layers.erase(std::remove_if(net->layers.begin(), net->layers.end(), no_score),
                    net->layers.end());
}

void SetLossParam(const std::string& text, ZooNet* net) {
  for (ZooLayer& layer : net->layers) {
    if (!IsLoss(layer)) continue;
    Replace(" *loss_param \\{[^}]*\\}\n?", "", &layer.text);
    const bool one_line = layer.text.find('\n') + 1 == layer.text.size();
    const std::string field = "loss_param { " + text + " }";
    layer.text.erase(layer.text.rfind('}'));
    layer.text += one_line ? field + " }\n" : "  " + field + "\n}\n";
  }
}

std::string TrainText(const ZooNet& net, const std::string& head, const std::string& data_layers) {
  std::string text = head + "name: \"" + net.title + "\"\n\n" + data_layers;
  for (const ZooLayer& layer : net.layers) text += LayerText(layer);
  return text;
}

std::string DeployText(const ZooNet& net, const std::string& head, const ImageShape& input) {
  std::string text = head + "name: \"" + net.title + "\"\n\nlayer {\n  name: \"data\"\n" +
                     "  type: \"Input\"\n  top: \"data\"\n  input_param { shape { dim: 1";
  for (const int extent : {input.channels, input.height, input.width}) {
    text += " dim: " + std::to_string(extent);
  }
  text += " } }\n}\n";
  const std::vector<const ZooLayer*> layers = LayersInUse(net);
  for (const ZooLayer* layer : layers) text += LayerText(*layer);
  const std::string& scores = layers.back()->param.top(0);
  return text + "\n# Probabilities.\nlayer { name: \"prob\" type: \"Softmax\" bottom: \"" + scores +
         "\" top: \"prob\" }\n";
}

}  // namespace doppio
