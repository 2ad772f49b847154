// Names of parameters where files outside Caffe's world keep them: "conv1.weight", "conv1.bias",
// "bn1.running_mean", as PyTorch names the same arrays. What has no such name is "lstm1.blob0", by
// its place among the layer's blobs.
#ifndef DOPPIO_TOOLS_EXPORT_PARAM_NAMES_H_
#define DOPPIO_TOOLS_EXPORT_PARAM_NAMES_H_

#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "core/net/store/weights.h"

namespace doppio {

// Of graph.params[param]: the owner's name and what it is there.
std::string ParamName(const Graph& graph, int param);

struct NamedArray {
  std::string name;
  Shape shape;
  const float* data = nullptr;  // row-major, in `weights` or in `own`
  std::vector<float> own;
};
// All parameters, each once. Of a BatchNorm, which Caffe stores as decayed sums and their weight,
// the mean and the variance themselves, without the weight. `weights` are those of graph.params,
// plain floats on the host, and outlive the result.
std::vector<NamedArray> NamedArrays(const Graph& graph, const WeightTensors& weights);

// What BatchNorm's blobs 0 and 1, the sums, are multiplied by: 1 / blob 2, or 0 where nothing has
// been seen yet.
double BatchNormFactor(const Graph& graph, const Node& node, const WeightTensors& weights);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EXPORT_PARAM_NAMES_H_
