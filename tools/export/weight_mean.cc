#include "tools/export/weight_mean.h"

#include <utility>

#include "core/base/error.h"
#include "core/net/contract/layer.h"
#include "tools/export/weight_stats.h"

namespace doppio {
namespace {

// Returns true for a mean, a variance and the factor that divides both. HDF5 files do not record
// types.
bool HasScaledStatistics(const LayerBlobs& layer) {
  const LayerType* type = LayerTypes::Get().Find(layer.type);
  const bool scaled =
      type != nullptr && type->param_names.size() == 3 && type->param_names[2] == "factor";
  return (scaled || layer.type.empty()) && layer.blobs.size() >= 3 &&
         layer.blobs[2].data.size() == 1 &&
         layer.blobs[0].data.size() == layer.blobs[1].data.size();
}

// Returns the layer's values of blob `index` as BatchNorm uses them: statistics without their
// factor, which then is 1. A factor of 0 means that there are no statistics yet.
std::vector<double> ValuesOf(const LayerBlobs& layer, size_t index) {
  const std::vector<float>& data = layer.blobs[index].data;
  std::vector<double> values(data.begin(), data.end());
  if (index > 2 || !HasScaledStatistics(layer)) return values;
  if (index == 2) return {1};
  const double factor = layer.blobs[2].data[0];
  for (double& value : values) value = factor == 0 ? 0 : value / factor;
  return values;
}

void CheckSameBlobs(const WeightsFile& first, const WeightsFile& file) {
  ErrorCollector mistakes;
  for (const BlobDifference& blob : Compare(first, file)) {
    if (blob.unlike.empty()) continue;
    mistakes.Add(FileError("the files have no mean: blob ", blob.index, " of layer '", blob.layer,
                           "' is ", blob.unlike));
  }
  mistakes.ThrowIfAny();
}

}  // namespace

void WeightMean::Add(WeightsFile file) {
  const bool first = files_ == 0;
  if (!first) CheckSameBlobs(first_, file);
  size_t blob = 0;
  for (const LayerBlobs& layer : first ? file.layers : first_.layers) {
    const LayerBlobs* found = nullptr;
    for (const LayerBlobs& own : file.layers) {
      if (own.name == layer.name && found == nullptr) found = &own;
    }
    for (size_t i = 0; i < layer.blobs.size(); ++i, ++blob) {
      if (first) sums_.emplace_back(layer.blobs[i].data.size());
      // Only a blob that another layer owns can be missing.
      if (sums_[blob].empty()) continue;
      if (found == nullptr || found->blobs.size() <= i || found->blobs[i].data.empty()) {
        throw FileError("the files have no mean: '", file.path, "' has no blob ", i, " of layer '",
                        layer.name,
                        "', as an HDF5 file has none that another layer owns; give "
                        "files of one format");
      }
      const std::vector<double> values = ValuesOf(*found, i);
      for (size_t k = 0; k < values.size(); ++k) sums_[blob][k] += values[k];
    }
  }
  if (first) first_ = std::move(file);
  ++files_;
}

WeightsFile WeightMean::Result() const {
  WeightsFile mean = first_;
  size_t index = 0;
  for (LayerBlobs& layer : mean.layers) {
    for (PlainBlob& blob : layer.blobs) {
      const std::vector<double>& sums = sums_[index++];
      for (size_t k = 0; k < sums.size(); ++k) blob.data[k] = static_cast<float>(sums[k] / files_);
    }
  }
  return mean;
}

void WriteLayers(const std::string& path, bool hdf5, const WeightsFile& file) {
  Graph graph;
  WeightTensors weights;
  graph.preprocessing = file.preprocessing;
  for (size_t i = 0; i < file.layers.size(); ++i) {
    const LayerBlobs& layer = file.layers[i];
    LayerSpec spec;
    spec.param.set_name(layer.name);
    spec.param.set_type(layer.type);
    graph.spec.layers.push_back(spec);
    Node& node = graph.nodes.emplace_back();
    for (size_t k = 0; k < layer.blobs.size(); ++k) {
      const PlainBlob& blob = layer.blobs[k];
      node.params.push_back(static_cast<int>(graph.params.size()));
      node.param_shapes.push_back(blob.shape);
      GraphParam& param = graph.params.emplace_back();
      param.index = static_cast<int>(k);
      param.node = blob.data.empty() ? -1 : static_cast<int>(i);  // another layer owns it
      weights.values.push_back(
          Tensor({blob.shape, DType::kFloat32, Layout()}, const_cast<float*>(blob.data.data())));
    }
  }
  WriteWeights(path, hdf5, graph, weights);
}

}  // namespace doppio
