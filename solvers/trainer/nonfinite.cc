#include "solvers/trainer/nonfinite.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/net/store/plain_blob.h"

namespace doppio {
namespace {

bool IsFinite(const Tensor& tensor, Device* device) {
  if (!tensor || tensor.count() == 0) return true;
  const PlainBlob blob = ReadTensor(tensor, device);
  return std::all_of(blob.data.begin(), blob.data.end(),
                     [](float value) { return std::isfinite(value); });
}

int FirstNonFinite(const std::vector<Tensor>& tensors, Device* device) {
  const auto lost = std::find_if(tensors.begin(), tensors.end(),
                                 [&](const Tensor& t) { return !IsFinite(t, device); });
  return lost == tensors.end() ? -1 : static_cast<int>(lost - tensors.begin());
}

NonFinite Look(const Net& net, size_t node, bool tops) {
  Device* device = net.params().device();
  const KernelTensors& tensors = net.plan().tensors[node];
  const int param = FirstNonFinite(tensors.params, device);
  if (param >= 0) return {static_cast<int>(node), param, -1};
  const int top = tops ? FirstNonFinite(tensors.tops, device) : -1;
  return top >= 0 ? NonFinite{static_cast<int>(node), -1, top} : NonFinite();
}

NonFinite FindIn(Net* net) {
  const Plan& plan = net->plan();
  NonFinite found;
  // Runs all steps even after a finding, because losses count their labels together with other
  // ranks.
  for (PlanStep step : plan.forward) {
    const bool layer = step.kind == StepKind::kLayer;
    const Kernel* kernel = layer ? net->kernel(step.node) : nullptr;
    if (kernel != nullptr && kernel->position() < 0) step.again = true;
    net->RunStep(step);
    for (size_t node = 0; layer && found.node < 0 && node < plan.computed_with.size(); ++node) {
      if (plan.computed_with[node] == step.node) found = Look(*net, node, true);
    }
  }
  return found;
}

}  // namespace

NonFinite FindNonFinite(Net* net) {
  NonFinite found = FindIn(net);
  for (const auto& other : net->other_microbatches()) {
    if (found.node < 0) found = FindIn(other.get());
  }
  return found;
}

NonFinite FindNonFiniteWeights(const Net& net) {
  for (size_t node = 0; node < net.graph().nodes.size(); ++node) {
    const NonFinite found = Look(net, node, false);
    if (found.node >= 0) return found;
  }
  return {};
}

NonFinite FirstOverRanks(const NonFinite& own, const World* world) {
  constexpr size_t kNumbers = 3;
  std::vector<double> all(kNumbers * world->size());
  double* mine = &all[kNumbers * world->rank()];
  mine[0] = own.node;
  mine[1] = own.param;
  mine[2] = own.top;
  world->control().AllReduce(all.data(), static_cast<int64_t>(all.size()), DType::kFloat64);
  NonFinite first;
  for (size_t i = 0; i < all.size(); i += kNumbers) {
    const NonFinite its{static_cast<int>(all[i]), static_cast<int>(all[i + 1]),
                        static_cast<int>(all[i + 2])};
    if (its.node >= 0 && (first.node < 0 || its.node < first.node)) first = its;
  }
  return first;
}

std::string Describe(const NonFinite& found, const Net& net) {
  if (found.node < 0) return "no layer shows where it began";
  const Graph& graph = net.graph();
  const LayerSpec& layer = graph.layer(found.node);
  const std::string at = layer.At().ToString();
  const std::string who = "layer '" + layer.name() + "' (" + layer.type() +
                          (at.empty() ? "" : ", " + at) + ") is the first whose ";
  if (found.param >= 0) return who + "weights are not finite";
  const int edge = graph.nodes[found.node].tops[found.top];
  return who + "output '" + graph.edges[edge].name + "' is not finite";
}

}  // namespace doppio
