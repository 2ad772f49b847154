#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/net/spec/prototxt.h"
#include "tools/init/pretrained_files.h"

namespace doppio {
namespace {

// Layers with parameters, by what they do with their input; layers of a kind are matched with each
// other.
enum Kind { kLinear, kNorm, kFactors, kKinds };
struct Slot {
  std::string name;  // "" for factors that a file stores behind a norm
  std::vector<Shape> shapes;
  bool any_inputs = false;  // the number of inputs depends on the size of the image
};
using Slots = std::array<std::vector<Slot>, kKinds>;

// Old files have four axes for every blob, the first of extent 1.
Shape WithoutLeadingOnes(const Shape& shape) {
  const auto& dims = shape.dims();
  const auto first = [](int64_t extent) { return extent != 1; };
  return Shape(std::vector<int64_t>(std::find_if(dims.begin(), dims.end(), first), dims.end()));
}

Slots SlotsOf(const WeightsFile& file) {
  constexpr size_t kStatistics = 3;
  Slots slots;
  for (const LayerBlobs& layer : file.layers) {
    std::vector<Shape> shapes;
    for (const PlainBlob& blob : layer.blobs) shapes.push_back(blob.shape);
    if (shapes.empty()) continue;
    const bool linear = WithoutLeadingOnes(shapes[0]).rank() > 1;
    if (!linear && shapes.size() > kStatistics) {
      slots[kFactors].push_back({"", {shapes.begin() + kStatistics, shapes.end()}});
      shapes.resize(kStatistics);
    }
    const Kind kind = linear ? kLinear : shapes.size() == kStatistics ? kNorm : kFactors;
    slots[kind].push_back({layer.name, shapes});
  }
  return slots;
}

// Returns the layers of a net without its classifier, which is the last linear layer.
Slots SlotsOf(const Graph& graph) {
  Slots slots;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const LayerSpec& layer = graph.layer(static_cast<int>(i));
    if (graph.nodes[i].params.empty()) continue;
    const std::string type = layer.type();
    slots[type == "BatchNorm" ? kNorm
          : type == "Scale"   ? kFactors
                              : kLinear]
        .push_back({layer.name(), graph.nodes[i].param_shapes, type == "InnerProduct"});
  }
  slots[kLinear].pop_back();
  return slots;
}

bool Fits(const Slot& file, const Slot& net) {
  const Shape a = WithoutLeadingOnes(file.shapes[0]), b = WithoutLeadingOnes(net.shapes[0]);
  // A convolution without a bias fits one with a bias of 0.
  const bool no_bias = file.shapes.size() == 1 && net.shapes.size() == 2 && b.rank() == 4;
  return (file.shapes.size() == net.shapes.size() || no_bias) &&
         (net.any_inputs ? a.rank() > 1 && a[0] == b[0] : a == b);
}

// Pairs the layers of a file with those of a net, by name or in their order. Returns why that is
// not possible, or "".
std::string Pair(const Slots& file, const Slots& net, bool by_name,
                 std::map<std::string, std::string>* renamed) {
  for (const int kind : {kLinear, kNorm, kFactors}) {
    const bool as_many = file[kind].size() == net[kind].size() + (kind == kLinear);
    for (size_t i = 0; i < net[kind].size(); ++i) {
      const Slot& to = net[kind][i];
      const auto named = std::find_if(file[kind].begin(), file[kind].end(),
                                      [&](const Slot& slot) { return slot.name == to.name; });
      if (by_name ? named == file[kind].end() : !as_many)
        return by_name ? "it has no layer '" + to.name + "'"
                       : StrCat("it has ", file[kind].size(), " layers of the kind of '", to.name,
                                "', the net ", net[kind].size() + (kind == kLinear));
      const Slot& from = by_name ? *named : file[kind][i];
      if (!Fits(from, to)) {
        return StrCat("its layer '", from.name, "' has ", from.shapes.size(), " blobs, the first ",
                      from.shapes[0].ToString(), ", and the net's '", to.name, "' ",
                      to.shapes.size(), ", the first ", to.shapes[0].ToString());
      }
      if (!by_name) renamed->emplace(from.name, to.name);
    }
  }
  return "";
}

// The size for which a net is published, or one that it can take.
ImageShape PublishedInput(const ZooNet& net, const Slots& file) {
  constexpr int kDigits = 28, kSmall = 32;
  const int crop = static_cast<int>(net.train.crop_size());
  const int side = crop > 0 ? crop : net.name == "lenet" ? kDigits : kSmall;
  const Shape& first = file[kLinear][0].shapes[0];
  return {first.rank() == 4 && first[1] == 1 ? 1 : 3, side, side};
}

}  // namespace

Graph GraphForUse(const std::string& text) {
  NetParameter net;
  const FieldPlaces places = ParseText(text, "deploy.prototxt", &net);
  NetState state;
  state.set_phase(TEST);
  NetOptions options;
  options.phase = TEST;
  return MakeGraph(MakeNetSpec(net, places, state, options));
}

std::optional<ZooMatch> MatchZooNet(const WeightsFile& file, const std::string& name,
                                    std::string* why) {
  const Slots of_file = SlotsOf(file);
  *why = "it has no layers with weights";
  std::optional<ZooMatch> best;
  size_t most = 0;
  if (of_file[kLinear].empty()) return best;
  for (const std::string& one : name.empty() ? ZooNames() : std::vector<std::string>{name}) {
    ZooMatch match;
    match.net = ReadZooNet(one);
    const ImageShape input = PublishedInput(match.net, of_file);
    const Slots net = SlotsOf(GraphForUse(DeployText(match.net, "", input)));
    *why = Pair(of_file, net, true, &match.renamed);
    const std::string in_order = why->empty() ? "" : Pair(of_file, net, false, &match.renamed);
    *why += ", and in order " + in_order;
    if (!in_order.empty()) continue;
    // Files of larger nets may have all names of smaller ones.
    const size_t layers = net[kLinear].size() + net[kNorm].size();
    if (best && layers == most) best->alike = one;
    if (best && layers <= most) continue;
    best = std::move(match);
    most = layers;
  }
  return best;
}

}  // namespace doppio
