#include <algorithm>
#include <memory>
#include <set>

#include "core/base/file.h"
#include "core/base/file_limits.h"
#include "core/base/text/percent.h"
#include "core/base/version.h"
#include "core/net/store/hdf5_blobs.h"
#include "core/net/store/weights.h"
#include "core/net/store/wire_file.h"
#include "proto/net.pb.h"

namespace doppio {
namespace {

struct Source {
  const Graph& graph;
  const WeightTensors& weights;

  const Tensor& value(int param) const { return weights.values[param]; }
  bool diffs() const { return !weights.diffs.empty(); }
  // Returns an absent tensor if there is no gradient.
  Tensor diff(int param) const { return diffs() ? weights.diffs[param] : Tensor(); }
};

Preprocessing WithVersion(Preprocessing preprocessing) {
  preprocessing.set_doppio_version(Version());
  return preprocessing;
}

// Writes values directly from the parameters to the file; a message with all values would double
// the memory of a large net. The fields of a message may have any order, so a layer is written as
// its other fields followed by its blobs.
ContentSum WriteBinary(const Source& from, const std::string& path) {
  WireWriter out(path);
  NetParameter head;
  head.set_name(from.graph.spec.name);
  if (from.graph.preprocessing)
    *head.mutable_preprocessing() = WithVersion(*from.graph.preprocessing);
  out.Raw(head.SerializeAsString());
  for (size_t i = 0; i < from.graph.nodes.size(); ++i) {
    const Node& node = from.graph.nodes[i];
    LayerParameter layer = from.graph.layer(static_cast<int>(i)).param;
    layer.clear_blobs();
    const std::string text = layer.SerializePartialAsString();
    int64_t bytes = static_cast<int64_t>(text.size());
    for (size_t k = 0; k < node.params.size(); ++k) {
      bytes += WireBlobBytes(node.param_shapes[k], static_cast<bool>(from.diff(node.params[k])));
    }
    out.MessageHead(NetParameter::kLayerFieldNumber, bytes);
    out.Raw(text);
    for (size_t k = 0; k < node.params.size(); ++k) {
      const HostFloats value(from.value(node.params[k]), from.weights.device);
      const Tensor gradient = from.diff(node.params[k]);
      std::unique_ptr<HostFloats> diff;
      if (gradient) diff = std::make_unique<HostFloats>(gradient, from.weights.device);
      out.Blob(LayerParameter::kBlobsFieldNumber, node.param_shapes[k], value.data(),
               diff ? diff->data() : nullptr);
    }
  }
  return out.Close();
}

struct Hdf5Groups {
  std::vector<std::string> of_layers;  // below "/data" and "/diff"
  bool encoded = false;
};

// Returns true if HDF5 keeps all characters of the name, and the reader accepts its depth.
bool IsPath(const std::string& name) {
  const std::string path = "/" + name + "/";
  return path.find("//") == std::string::npos && path.find("/./") == std::string::npos &&
         path.find('\0') == std::string::npos &&
         std::count(path.begin(), path.end(), '/') <= kMaxDepth + 1;
}

// Returns the names of the data sets of all layers whose names are paths: "a/0", "a/1".
std::set<std::string> DataSetsOf(const Graph& graph) {
  std::set<std::string> sets;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::string& name = graph.layer(static_cast<int>(i)).name();
    for (size_t k = 0; IsPath(name) && k < graph.nodes[i].params.size(); ++k)
      sets.insert(name + "/" + std::to_string(k));
  }
  return sets;
}

// Returns true if the path goes through a data set: "a/0/b" if layer "a" has blobs.
bool MeetsDataSet(const std::string& path, const std::set<std::string>& sets) {
  for (size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    if (sets.count(path.substr(0, end)) > 0) return true;
  }
  return false;
}

// Returns the groups of layers: as in Caffe, the names of the layers. If a path cannot keep one of
// the names, this name and those that begin with kEncodedMark are percent-encoded.
Hdf5Groups GroupsOf(const Graph& graph) {
  const std::set<std::string> sets = DataSetsOf(graph);
  Hdf5Groups groups;
  std::vector<bool> kept;
  for (const LayerSpec& layer : graph.spec.layers) {
    groups.of_layers.push_back(layer.name());
    kept.push_back(IsPath(layer.name()) && !MeetsDataSet(layer.name(), sets));
    groups.encoded = groups.encoded || !kept.back();
  }
  for (size_t i = 0; groups.encoded && i < kept.size(); ++i) {
    std::string& name = groups.of_layers[i];
    if (!kept[i] || name[0] == kEncodedMark)
      name = kEncodedMark + PercentEncoded(name, std::string("/\0", 2));
  }
  return groups;
}

// Stores the value of a shared parameter with its owner, and its gradient with every user, as BVLC
// Caffe does.
ContentSum WriteHdf5(const Source& from, const std::string& path) {
  Hdf5BlobWriter out(path);
  out.Group("/data");
  const Hdf5Groups groups = GroupsOf(from.graph);
  if (groups.encoded) out.RootBytes(kEncodedNames, {kEncodedMark});
  if (from.graph.preprocessing) {
    out.RootBytes(kPreprocessingAttribute,
                  WithVersion(*from.graph.preprocessing).SerializeAsString());
  }
  for (size_t i = 0; i < from.graph.nodes.size(); ++i) {
    const Node& node = from.graph.nodes[i];
    const std::string& name = groups.of_layers[i];
    out.Group("/data/" + name);
    if (from.diffs()) out.Group("/diff/" + name);
    for (size_t k = 0; k < node.params.size(); ++k) {
      const GraphParam& owned = from.graph.params[node.params[k]];
      const std::string set = "/" + name + "/" + std::to_string(k);
      if (owned.node == static_cast<int>(i) && owned.index == static_cast<int>(k)) {
        const HostFloats value(from.value(node.params[k]), from.weights.device);
        out.Blob("/data" + set, node.param_shapes[k], value.data());
      }
      if (const Tensor gradient = from.diff(node.params[k])) {
        const HostFloats diff(gradient, from.weights.device);
        out.Blob("/diff" + set, node.param_shapes[k], diff.data());
      }
    }
  }
  out.Close();
  return SumOf(path);  // the library does not write sequentially
}

}  // namespace

WeightTensors WeightsOf(const std::vector<int>& param_index, const ParamStore& params,
                        bool gradients) {
  WeightTensors weights;
  for (int index : param_index) {
    const Param& param = params.params()[index];
    weights.values.push_back(param.value);
    if (gradients) weights.diffs.push_back(param.grad);
  }
  weights.device = params.device();
  return weights;
}

ContentSum WriteTemporaryWeights(const std::string& temporary, bool hdf5, const Graph& graph,
                                 const WeightTensors& weights) {
  const Source from{graph, weights};
  return hdf5 ? WriteHdf5(from, temporary) : WriteBinary(from, temporary);
}

void WriteWeights(const std::string& path, bool hdf5, const Graph& graph,
                  const WeightTensors& weights) {
  WriteFileAtomically(path, [&](const std::string& temporary) {
    WriteTemporaryWeights(temporary, hdf5, graph, weights);
  });
}

void WriteWeights(const std::string& path, bool hdf5, const Graph& graph,
                  const std::vector<int>& param_index, const ParamStore& params, bool gradients) {
  WriteWeights(path, hdf5, graph, WeightsOf(param_index, params, gradients));
}

}  // namespace doppio
