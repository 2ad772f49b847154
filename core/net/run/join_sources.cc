#include "core/net/run/join_sources.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/base/error.h"
#include "core/base/sample_set.h"
#include "core/net/contract/grouped_source.h"
#include "core/net/graph/sample_groups.h"

namespace doppio {
namespace {

// Finds the records that all sources of a group can use, so that a bad record in one source is left
// out in all of them. Thread-safe.
class UsableRecords {
 public:
  // `count` is the number of records, 0 if the sources have no end. Asks the probes in this order,
  // up to the first that returns false, so that each bad record counts once.
  UsableRecords(int64_t count, std::vector<RecordProbe> probes);

  // Returns `index` or the next record that all sources can use. The result does not depend on
  // earlier calls. Throws what the probes throw, and FileError if there is no such record.
  int64_t From(int64_t index);

 private:
  bool IsUsable(int64_t index);

  const int64_t count_;
  const std::vector<RecordProbe> probes_;
  std::mutex mutex_;
  std::vector<bool> known_, usable_;  // guarded by mutex_; empty if count_ is 0
};

UsableRecords::UsableRecords(int64_t count, std::vector<RecordProbe> probes)
    : count_(count), probes_(std::move(probes)), known_(count), usable_(count) {}

int64_t UsableRecords::From(int64_t index) {
  for (int64_t tried = 0; count_ == 0 || tried < count_; ++tried) {
    if (IsUsable(index)) return index;
    ++index;
    if (index == count_) index = 0;
  }
  throw FileError("no record is left that all sources of the group can use");
}

// Two threads may ask the probes for one record at once; they get the same answer.
bool UsableRecords::IsUsable(int64_t index) {
  if (count_ > 0) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (known_[index]) return usable_[index];
  }
  const bool usable = std::all_of(probes_.begin(), probes_.end(),
                                  [index](const RecordProbe& probe) { return probe(index); });
  if (count_ == 0) return usable;
  const std::lock_guard<std::mutex> lock(mutex_);
  known_[index] = true;
  usable_[index] = usable;
  return usable;
}

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
