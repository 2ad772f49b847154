// Names of parameters in exported files, equal to PyTorch's names of the same arrays:
// "conv1.weight", "conv1.bias", "bn1.running_mean". A parameter without such a name is named after
// its index among the layer's blobs: "lstm1.blob0".
#ifndef DOPPIO_TOOLS_EXPORT_PARAM_NAMES_H_
#define DOPPIO_TOOLS_EXPORT_PARAM_NAMES_H_

#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "core/net/store/weights.h"

namespace doppio {

// Returns the name of graph.params[param]: the name of the layer that owns it, a dot, and its role.
std::string ParamName(const Graph& graph, int param);

struct NamedArray {
  std::string name;
  Shape shape;
  const float* data = nullptr;  // row-major; points into the weights or to `own`
  std::vector<float> own;
};
// Returns all parameters, each once. BatchNorm's running mean and variance, which Caffe stores as
// decayed sums with a weight, are divided by that weight, and the weight is left out. `weights`
// holds the values of graph.params as plain floats on the host and must outlive the result. Throws
// UserError if a name is not UTF-8.
std::vector<NamedArray> NamedArrays(const Graph& graph, const WeightTensors& weights);

// Returns the name under which an .npz archive holds an array: percent-encoded where it could lead
// out of the folder into which a program unpacks the archive.
std::string ArchiveName(const std::string& array);

// Returns the factor for BatchNorm's blobs 0 and 1, which are sums: 1 / blob 2, or 0 before the
// first batch.
double BatchNormFactor(const Graph& graph, const Node& node, const WeightTensors& weights);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EXPORT_PARAM_NAMES_H_
