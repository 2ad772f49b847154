#include "solvers/trainer/nonfinite.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/net/contract/plain_blob.h"
#include "core/net/contract/sample_source.h"

namespace doppio {
namespace {

// Returns the index of the first value that is not finite, or -1.
int64_t PlaceOfNonFinite(const Tensor& tensor, Device* device) {
  if (!tensor || tensor.count() == 0) return -1;
  const PlainBlob blob = ReadTensor(tensor, device);
  const auto lost = std::find_if(blob.data.begin(), blob.data.end(),
                                 [](float value) { return !std::isfinite(value); });
  return lost == blob.data.end() ? -1 : lost - blob.data.begin();
}

int FirstNonFinite(const std::vector<Tensor>& tensors, Device* device) {
  const auto lost = std::find_if(tensors.begin(), tensors.end(),
                                 [&](const Tensor& t) { return PlaceOfNonFinite(t, device) >= 0; });
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

// Returns the sample to which the first non-finite value of a source's top belongs. `position` is
// that of the source before the pass.
int64_t SampleOf(const Net& net, const NonFinite& found, int64_t position) {
  const std::vector<Tensor>& tops = net.plan().tensors[found.node].tops;
  const int64_t batch = tops[0].shape.dim_or_1(0);
  const int64_t place = PlaceOfNonFinite(tops[found.top], net.params().device());
  return position + net.pass().rank * batch + place * batch / tops[found.top].count();
}

NonFinite FindIn(Net* net) {
  const Plan& plan = net->plan();
  NonFinite found;
  // Runs all steps even after a finding, because losses count their labels together with other
  // ranks.
  for (PlanStep step : plan.forward) {
    const bool layer = step.kind == StepKind::kLayer;
    const SampleSource* source = layer ? SourceOf(net->plan().kernel(step.node)) : nullptr;
    const int64_t position = source != nullptr ? source->position() : -1;
    if (layer && source == nullptr) step.again = true;
    net->passes().RunStep(step);
    for (size_t node = 0; layer && found.node < 0 && node < plan.computed_with.size(); ++node) {
      if (plan.computed_with[node] == step.node) found = Look(*net, node, true);
    }
    if (position >= 0 && found.node == step.node) found.sample = SampleOf(*net, found, position);
  }
  return found;
}

}  // namespace

NonFinite FindNonFinite(Net* net) {
  NonFinite found;
  for (Net* part : net->microbatches()) {
    if (found.node < 0) found = FindIn(part);
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
  constexpr size_t kNumbers = 4;
  std::vector<double> all(kNumbers * world->size());
  double* mine = &all[kNumbers * world->rank()];
  mine[0] = own.node;
  mine[1] = own.param;
  mine[2] = own.top;
  mine[3] = static_cast<double>(own.sample);
  world->control().AllReduce(all.data(), static_cast<int64_t>(all.size()), DType::kFloat64);
  NonFinite first;
  for (size_t i = 0; i < all.size(); i += kNumbers) {
    const NonFinite its{static_cast<int>(all[i]), static_cast<int>(all[i + 1]),
                        static_cast<int>(all[i + 2]), static_cast<int64_t>(all[i + 3])};
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
  const std::string output = who + "output '" + graph.edges[edge].name + "' is not finite";
  const auto* source = Capability<SampleSource>(net.plan().kernel(found.node));
  const std::string name = found.sample < 0 ? "" : source->NameOfSample(found.sample);
  return output + (name.empty() ? "" : ": " + name + " holds NaN or infinity");
}

std::string AdviceFor(const NonFinite& found, const Net& net) {
  const bool made = found.top >= 0 && net.graph().nodes[found.node].bottoms.empty();
  return made ? "Correct these data, or leave them out"
              : "A lower base_lr or clip_gradients often helps";
}

}  // namespace doppio
