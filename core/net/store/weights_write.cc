#include <memory>

#include "core/base/file.h"
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

// Stores the value of a shared parameter with its owner, and its gradient with every user, as BVLC
// Caffe does.
ContentSum WriteHdf5(const Source& from, const std::string& path) {
  Hdf5BlobWriter out(path);
  out.Group("/data");
  if (from.graph.preprocessing) {
    out.RootBytes(kPreprocessingAttribute,
                  WithVersion(*from.graph.preprocessing).SerializeAsString());
  }
  for (size_t i = 0; i < from.graph.nodes.size(); ++i) {
    const Node& node = from.graph.nodes[i];
    const std::string& name = from.graph.layer(static_cast<int>(i)).name();
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
