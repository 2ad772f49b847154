#include "python/net_params.h"

#include <algorithm>

#include "core/net/contract/plain_blob.h"
#include "core/net/store/weights.h"

namespace doppio {
namespace {

bool ReadsImages(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return node.shape.preprocessing.has_value(); });
}

}  // namespace

void NetParams::Load(const std::string& path) const {
  const WeightsFile file = ReadWeights(path);
  LogReport(CopyWeights(file, net_.graph(), net_.plan().param_index, &net_.params()), path);
  if (file.preprocessing && !ReadsImages(net_.graph())) net_.set_preprocessing(file.preprocessing);
}

void NetParams::Save(const std::string& path, bool hdf5, bool diffs) const {
  WriteWeights(path, hdf5, net_.graph(), net_.plan().param_index, net_.params(), diffs);
}

void NetParams::ClearGradients() const {
  for (size_t i = 0; i < net_.graph().params.size(); ++i) {
    const Tensor& gradient = Of(net_, i).grad;
    if (gradient) net_.params().device()->Zero(gradient.raw, gradient.bytes());
  }
}

Tensor NetParams::Part(int node, int index, Tensor Param::*part) const {
  const Node& of = net_.graph().nodes[node];
  Tensor tensor = Of(net_, of.params[index]).*part;
  tensor.shape = of.param_shapes[index];
  return tensor;
}

void NetParams::CheckCanUse(const Net& other) const {
  const std::string &name = net_.graph().spec.name, &other_name = other.graph().spec.name;
  if (other.params().device() != net_.params().device())
    throw UsageError("nets '", name, "' and '", other_name, "' are on different devices");
  if (net_.plan().backward.empty()) return;
  for (size_t i = 0; i < net_.graph().params.size(); ++i) {
    const Param& own = Of(net_, i);
    const auto& theirs = other.params().params();
    const bool found = std::any_of(theirs.begin(), theirs.end(), [&](const Param& param) {
      return param.layer == own.layer && param.index == own.index && (param.grad || !own.grad);
    });
    if (found) continue;
    throw UsageError("net '", name, "' computes gradients, and net '", other_name,
                     "' has none for parameter ", own.index, " of layer '", own.layer,
                     "'; share in the other direction, or create this net for TEST without a loss");
  }
}

void NetParams::CopyTo(const Net& next, int first) const {
  Device* const device = net_.params().device();
  for (size_t i = 0; i < net_.graph().params.size(); ++i) {
    if (next.plan().param_index[i] < first) continue;
    WriteTensor(ReadTensor(Of(net_, i).value, device).data, Of(next, i).value, device);
  }
}

}  // namespace doppio
