#include "solvers/state/saved_positions.h"

#include <vector>

#include "core/base/log.h"
#include "core/net/contract/sample_source.h"
#include "core/net/graph/sample_groups.h"
#include "core/net/run/join_sources.h"

namespace doppio {
namespace {

using Position = RunState::DataPosition;

template <class F>
void ForPositions(const Net& net, const F& f) {
  const int nodes = static_cast<int>(net.graph().nodes.size());
  for (int node = 0; node < nodes; ++node) {
    if (const SampleSource* const source = SourceOf(net.plan().kernel(node))) f(node, *source);
  }
}

// Returns the groups of several sources that have positions.
std::vector<SampleGroup> Groups(const Net& net) {
  std::vector<SampleGroup> groups;
  for (SampleGroup& group : FindSampleGroups(net.graph())) {
    if (group.nodes.size() > 1 && SourceOf(net.plan().kernel(group.nodes[0])) != nullptr)
      groups.push_back(std::move(group));
  }
  return groups;
}

// Returns the first position that one of the nodes has, or null.
const Position* FirstOf(const std::vector<int>& nodes, const SavedPositions& saved) {
  for (int node : nodes) {
    if (saved.at(node) != nullptr) return saved.at(node);
  }
  return nullptr;
}

}  // namespace

void SavePositions(const std::string& prefix, const Net& net, RunState* state) {
  std::map<int, std::string> groups;
  for (const SampleGroup& group : Groups(net)) {
    for (int node : group.nodes) groups[node] = group.name;
  }
  ForPositions(net, [&](int node, const SampleSource& source) {
    Position* const position = state->add_data();
    position->set_layer(prefix + net.graph().layer(node).name());
    position->set_next_sample(source.position());
    if (source.source_size() > 0) position->set_records(source.source_size());
    if (groups.count(node) > 0) position->set_group(groups[node]);
  });
}

// Layers of one name have their positions in the order of the net.
SavedPositions FindPositions(const std::string& prefix, const RunState& state, const Net& net) {
  std::map<std::string, std::vector<const Position*>> by_name;
  for (const Position& position : state.data()) by_name[position.layer()].push_back(&position);
  std::map<std::string, size_t> used;
  SavedPositions saved;
  ForPositions(net, [&](int node, const SampleSource&) {
    const std::string name = prefix + net.graph().layer(node).name();
    const size_t which = used[name]++;
    saved[node] = which < by_name[name].size() ? by_name[name][which] : nullptr;
  });
  return saved;
}

SavedPositions Together(const Net& net, SavedPositions saved) {
  for (const SampleGroup& group : Groups(net)) {
    const Position* const first = FirstOf(group.nodes, saved);
    for (int node : group.nodes) saved[node] = first;
  }
  const SavedPositions own = saved;
  for (auto& [node, position] : saved) {
    if (position != nullptr) continue;
    std::vector<int> alike;
    for (const auto& [other, unused] : own) {
      if (SampleRows(net.graph(), other) == SampleRows(net.graph(), node)) alike.push_back(other);
    }
    position = FirstOf(alike, own);
  }
  return saved;
}

void WarnIfGroupsChanged(const Net& net, const SavedPositions& saved) {
  for (const SampleGroup& group : Groups(net)) {
    const Position* const first = FirstOf(group.nodes, saved);
    bool drew_apart = false;
    for (int node : group.nodes) {
      const Position* const its = saved.at(node);
      if (its == nullptr) continue;
      drew_apart = drew_apart || (group.draws && its->group() != group.name);
      if (its->next_sample() == first->next_sample()) continue;
      LOG(WARNING) << "layer '" << net.graph().layer(node).name() << "' was at sample "
                   << its->next_sample() << " when the snapshot was written, but layer '"
                   << first->layer() << "', which belongs to the same samples, at sample "
                   << first->next_sample() << ": both continue at sample " << first->next_sample();
    }
    if (!drew_apart) continue;
    LOG(WARNING) << "the sources of the group of layer '" << group.name
                 << "' draw their order and random changes together, but did not when the "
                    "snapshot was written: the resumed run reads other samples than an "
                    "uninterrupted one";
  }
}

}  // namespace doppio
