#include "core/net/store/weights.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/log.h"

namespace doppio {
namespace {

// Removes leading axes of extent 1. Old files have four axes for blobs with fewer: 1x1x1xN for a
// bias of N.
Shape WithoutLeadingOnes(const Shape& shape) {
  int ones = 0;
  while (ones < shape.rank() && shape[ones] == 1) ++ones;
  return Shape(std::vector<int64_t>(shape.dims().begin() + ones, shape.dims().end()));
}

// Returns true for 1xNx1x1, the shape in which NVCaffe with cuDNN stores one value per channel.
bool IsChannels(const Shape& in_file, const Shape& wanted) {
  return wanted.rank() == 1 && in_file.rank() == 4 && in_file == Shape{1, wanted[0], 1, 1};
}

bool Fits(const Shape& in_file, const Shape& wanted) {
  return in_file == wanted || IsChannels(in_file, wanted) ||
         (in_file.rank() <= 4 && wanted.rank() <= 4 &&
          WithoutLeadingOnes(in_file) == WithoutLeadingOnes(wanted));
}

// Returns true for the weights of an inner product and of a convolution that computes the same
// values, because its kernel covers the whole map: both have a row of as many numbers per output,
// in the same order. Old files store an inner product as 1x1xOUTPUTSxINPUTS.
bool AreOneProduct(const Shape& in_file, const Shape& wanted) {
  const bool old = in_file.rank() == 4 && in_file[0] == 1 && in_file[1] == 1;
  const Shape rows = old ? Shape{in_file[2], in_file[3]} : in_file;
  return std::min(rows.rank(), wanted.rank()) == 2 && std::max(rows.rank(), wanted.rank()) > 2 &&
         rows[0] == wanted[0] && rows.count() == wanted.count();
}

class Copier {
 public:
  Copier(const WeightsFile& file, const Graph& graph) : file_(file), graph_(graph) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      nodes_[graph.layer(static_cast<int>(i)).name()] = static_cast<int>(i);
    }
    for (const LayerBlobs& layer : file.layers) in_file_.insert(layer.name);
    for (const LayerBlobs& layer : file.layers) {
      const int scale = FusedScale(layer);
      if (scale >= 0) in_file_.insert(graph.layer(scale).name());
    }
  }

  // Decides where each blob goes. Throws all mistakes at once.
  void Match() {
    for (const LayerBlobs& layer : file_.layers) {
      auto it = nodes_.find(layer.name);
      if (it == nodes_.end()) {
        if (!layer.blobs.empty()) report_.ignored.push_back(layer.name);
      } else {
        const int scale = FusedScale(layer);
        const size_t own = scale < 0 ? layer.blobs.size() : graph_.nodes[it->second].params.size();
        MatchBlobs(layer, 0, own, it->second);
        if (scale >= 0) MatchBlobs(layer, own, layer.blobs.size(), scale);
        if (!layer.blobs.empty()) report_.copied.push_back(layer.name);
      }
    }
    errors_.ThrowIfAny();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::string& name = graph_.layer(static_cast<int>(i)).name();
      if (!graph_.nodes[i].params.empty() && in_file_.count(name) == 0) {
        report_.missing.push_back(name);
      }
    }
  }

  WeightsReport Copy(const std::vector<int>& param_index, ParamStore* params) {
    for (const auto& [param, move] : moves_) {
      const Tensor& value = params->params()[param_index[param]].value;
      WriteTensor(move.blob->data, value, params->device());
      if (!move.conflict.first.empty()) report_.conflicts.push_back(move.conflict);
    }
    return std::move(report_);
  }

 private:
  bool OwnedByOtherLayer(int node, size_t blob) const {
    const GraphParam& param = graph_.params[graph_.nodes[node].params[blob]];
    return param.node != node || param.index != static_cast<int>(blob);
  }

  // Gives a parameter the values of `blob`, which belongs to parameter `index` of `layer`.
  void Assign(int param, const PlainBlob& blob, const LayerSpec& layer, size_t index) {
    const auto [place, added] = moves_.try_emplace(param);
    Move& move = place->second;
    // Compares bytes, because a NaN differs from itself.
    if (!added && std::memcmp(move.blob->data.data(), blob.data.data(),
                              blob.data.size() * sizeof(float)) != 0) {
      const int i = static_cast<int>(index);
      const bool named = i < layer.param.param_size();
      move.conflict = {named ? layer.param.param(i).name() : "", move.layer, layer.name()};
    }
    move.blob = &blob;
    move.layer = layer.name();
  }

  // Returns the layer that gets the blobs behind the layer's own (LayerType::StoresParamsOf), or
  // -1.
  int FusedScale(const LayerBlobs& layer) const {
    const auto it = nodes_.find(layer.name);
    if (it == nodes_.end()) return -1;
    const Node& node = graph_.nodes[it->second];
    const std::string& follower = node.type->stores_params_of;
    if (follower.empty() || layer.blobs.size() <= node.params.size() || node.tops.empty())
      return -1;
    for (const Use& use : graph_.edges[node.tops[0]].uses) {
      const Node& reader = graph_.nodes[use.node];
      if (graph_.layer(use.node).type() == follower && !reader.params.empty()) return use.node;
    }
    return -1;
  }

  // Assigns blobs [begin, end) of a layer in the file to node `index`.
  void MatchBlobs(const LayerBlobs& layer, size_t begin, size_t end, int index) {
    const Node& node = graph_.nodes[index];
    const LayerSpec& spec = graph_.layer(index);
    size_t least = node.params.size();
    while (file_.hdf5 && least > 0 && OwnedByOtherLayer(index, least - 1)) --least;
    if (end - begin < least || end - begin > node.params.size()) {
      errors_.Add(spec.Mistake("", StrCat("it has ", node.params.size(), " parameter blobs, but ",
                                          Called(layer, spec), " in '", file_.path, "' has ",
                                          end - begin, begin > 0 ? " for it" : "", Hint())));
      return;
    }
    for (size_t i = 0; i < end - begin; ++i) {
      const PlainBlob& blob = layer.blobs[begin + i];
      if (file_.hdf5 && blob.shape == Shape{0} && OwnedByOtherLayer(index, i)) continue;
      const Shape& wanted = node.param_shapes[i];
      const bool fits = Fits(blob.shape, wanted);
      if (!fits && !AreOneProduct(blob.shape, wanted)) {
        errors_.Add(
            spec.Mistake("", StrCat("its parameter blob ", i, " is ", wanted.ToString(),
                                    ", but in '", file_.path, "' it is ", blob.shape.ToString(),
                                    i == 0 ? HintOf(index, blob.shape) : Hint())));
        continue;
      }
      if (!fits) report_.reshaped.push_back({spec.name(), blob.shape, wanted});
      Assign(node.params[i], blob, spec, i);
    }
  }

  static std::string Called(const LayerBlobs& layer, const LayerSpec& spec) {
    return layer.name == spec.name() ? "the layer of this name" : "layer '" + layer.name + "'";
  }

  static std::string Hint() {
    return "; change the layer to match the file, or give it another name to train it from its "
           "fillers";
  }

  // Returns a hint for weights that were trained with another size of the net's input
  // (LayerType::FixesInputSize), else the general hint.
  std::string HintOf(int index, const Shape& in_file) const {
    const LayerSpec& spec = graph_.layer(index);
    const Node& node = graph_.nodes[index];
    const Shape &here = node.param_shapes[0], there = WithoutLeadingOnes(in_file);
    if (node.type->input_values_axis == nullptr || there.rank() != 2) return Hint();
    const int inputs = node.type->input_values_axis(spec.param);
    if (there[1 - inputs] != here[1 - inputs]) return Hint();
    const Edge& bottom = graph_.edges[node.bottoms[0]];
    return StrCat("; an ", spec.type(), " fixes the size of the net's input: bottom '", bottom.name,
                  "' of shape ", bottom.shape.ToString(), " gives it ", here[inputs],
                  " values, the weights are for ", there[inputs],
                  "; give the net the input size that it was trained with");
  }

  const WeightsFile& file_;
  const Graph& graph_;
  std::map<std::string, int> nodes_;
  std::set<std::string> in_file_;
  // The values of a parameter, and the layer in the file that has them.
  struct Move {
    const PlainBlob* blob = nullptr;
    std::string layer;
    SharedConflict conflict;  // empty if all layers in the file have the same values
  };
  std::map<int, Move> moves_;  // by the index in graph.params
  WeightsReport report_;
  ErrorCollector errors_;
};

}  // namespace

WeightsReport CopyWeights(const WeightsFile& file, const Graph& graph,
                          const std::vector<int>& param_index, ParamStore* params) {
  Copier copier(file, graph);
  copier.Match();
  return copier.Copy(param_index, params);
}

void LogReport(const WeightsReport& report, const std::string& path) {
  LOG(INFO) << "Weights of " << report.copied.size() << " layers read from " << path;
  for (const std::string& name : report.ignored) LOG(INFO) << "Ignoring source layer " << name;
  for (const ReshapedWeights& weights : report.reshaped) {
    LOG(INFO) << "Layer '" << weights.layer << "' takes weights of " << weights.in_file.ToString()
              << " as " << weights.in_net.ToString()
              << ": an inner product over a whole map is a convolution";
  }
  for (const std::string& name : report.missing) {
    LOG(WARNING) << "Layer '" << name << "' is not in " << path << " and keeps its values";
  }
  for (const SharedConflict& c : report.conflicts) {
    LOG(WARNING) << path << " has different values for the "
                 << (c.parameter.empty() ? "parameter" : "parameter '" + c.parameter + "'")
                 << " that the layers '" << c.first << "' and '" << c.last
                 << "' share; it gets those of '" << c.last << "', the last one in the file";
  }
}

}  // namespace doppio
