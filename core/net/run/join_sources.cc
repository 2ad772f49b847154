#include "core/net/run/join_sources.h"

#include "core/net/contract/grouped_source.h"
#include "core/net/graph/sample_groups.h"
#include "core/net/run/usable_records.h"

namespace doppio {
namespace {

GroupedSource* SourceOf(const std::unique_ptr<Kernel>& kernel) {
  return Capability<GroupedSource>(kernel.get());
}

// Returns GroupRule::usable of the group.
std::function<int64_t(int64_t)> UsableOf(const SampleGroup& group,
                                         const std::vector<std::unique_ptr<Kernel>>& kernels) {
  std::vector<RecordProbe> probes;
  for (int node : group.nodes) {
    GroupedSource* const source = SourceOf(kernels[node]);
    RecordProbe probe = source == nullptr ? nullptr : source->Probe();
    if (probe) probes.push_back(std::move(probe));
  }
  if (probes.empty()) return nullptr;
  const auto records = std::make_shared<UsableRecords>(group.rule.count, std::move(probes));
  return [records](int64_t index) { return records->From(index); };
}

}  // namespace

int64_t SampleRows(const Graph& graph, int node) {
  const Node& layer = graph.nodes[node];
  const std::vector<int>& edges = layer.bottoms.empty() ? layer.tops : layer.bottoms;
  return edges.empty() ? 1 : graph.edges[edges[0]].shape.dim_or_1(0);
}

void JoinSources(const Graph& graph, const std::vector<std::unique_ptr<Kernel>>& kernels) {
  std::vector<SampleGroup> groups = FindSampleGroups(graph);
  for (SampleGroup& group : groups) {
    group.rule.usable = UsableOf(group, kernels);
    for (size_t i = 0; group.nodes.size() > 1 && i < group.nodes.size(); ++i) {
      GroupedSource* const source = SourceOf(kernels[group.nodes[i]]);
      if (source == nullptr) continue;
      GroupRule rule = group.rule;
      rule.crop_step = group.crop_steps[i];
      source->Join(rule);
    }
  }
  for (int node = 0; node < static_cast<int>(kernels.size()); ++node) {
    GroupedSource* const follower = SourceOf(kernels[node]);
    if (follower == nullptr || graph.nodes[node].shape.samples) continue;
    for (const SampleGroup& group : groups) {
      if (group.rows != SampleRows(graph, node)) continue;
      follower->Join(group.rule);
      break;
    }
  }
}

}  // namespace doppio
