#include "core/net/graph/sample_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/base/random.h"
#include "core/net/graph/group_moves.h"

namespace doppio {
namespace {

const SampleSet* SamplesOf(const Graph& graph, int node) {
  const std::optional<SampleSet>& samples = graph.nodes[node].shape.samples;
  return samples ? &*samples : nullptr;
}

int64_t RowsOf(const Graph& graph, int node) {
  return graph.edges[graph.nodes[node].tops[0]].shape.dim_or_1(0);
}

bool IsIndependent(const Graph& graph, int node) { return graph.layer(node).param.independent(); }

// Returns the sizes of the smallest blocks that consist of whole blocks of each source that has
// blocks; none if no source has several.
std::vector<int64_t> CommonBlocks(const std::vector<const SampleSet*>& sets) {
  std::optional<std::set<int64_t>> common;
  bool several = false;
  for (const SampleSet* set : sets) {
    if (set->blocks.empty()) continue;
    several = several || set->blocks.size() > 1;
    std::set<int64_t> ends;
    int64_t end = 0;
    for (int64_t samples : set->blocks) {
      end += samples;
      if (!common || common->count(end) > 0) ends.insert(end);
    }
    common = std::move(ends);
  }
  std::vector<int64_t> blocks;
  if (!several) return blocks;
  common->erase(0);
  int64_t begin = 0;
  for (int64_t end : *common) {
    blocks.push_back(end - begin);
    begin = end;
  }
  return blocks;
}

SampleGroup GroupOf(const Graph& graph, const std::vector<int>& nodes) {
  SampleGroup group;
  group.nodes = nodes;
  group.rows = RowsOf(graph, nodes[0]);
  group.name = graph.layer(nodes[0]).name();
  std::vector<const SampleSet*> sets;
  std::string balanced;  // the first name of the layers with classes
  for (int node : nodes) {
    const std::string& name = graph.layer(node).name();
    sets.push_back(SamplesOf(graph, node));
    group.name = std::min(group.name, name);
    if (sets.back()->classes != nullptr && (balanced.empty() || name < balanced)) {
      balanced = name;
      group.rule.classes = sets.back()->classes;
    }
    group.rule.shuffle = group.rule.shuffle || sets.back()->shuffle;
    group.rule.rand_skip = std::max(group.rule.rand_skip, sets.back()->rand_skip);
  }
  const SampleSet& first = *sets[0];
  const bool alone = nodes.size() == 1;
  group.rule.count = first.count;
  group.rule.stream = Stream("data", group.name);
  group.rule.order_stream = group.rule.stream ^ (alone ? first.order_salt : Stream("shuffle"));
  if (group.rule.classes == nullptr) group.rule.blocks = alone ? first.blocks : CommonBlocks(sets);
  group.crop_steps = CropSteps(sets);
  group.draws = group.rule.shuffle || group.rule.rand_skip > 0 || !first.kind.empty() ||
                std::any_of(sets.begin(), sets.end(), [](const SampleSet* set) {
                  return !set->moves.empty() || set->random_crop != PixelSize();
                });
  return group;
}

// Returns the names of layers: "layer 'a'", "layers 'a' and 'b'", "layers 'a', 'b' and 'c'".
std::string Layers(const Graph& graph, const std::vector<int>& nodes) {
  std::string text = nodes.size() == 1 ? "layer " : "layers ";
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i > 0) text += i + 1 == nodes.size() ? " and " : ", ";
    text += "'" + graph.layer(nodes[i]).name() + "'";
  }
  return text;
}

void WarnOfSizes(const Graph& graph, const std::vector<SampleGroup>& groups,
                 std::vector<Warning>* warnings) {
  std::string text;
  int last = -1;
  size_t sizes = 0;
  for (const SampleGroup& group : groups) {
    if (group.rule.count == 0 || IsIndependent(graph, group.nodes[0])) continue;
    text += (sizes++ == 0 ? "" : "; ") + Layers(graph, group.nodes) +
            (group.nodes.size() == 1 ? " has " : " have ") + std::to_string(group.rule.count) +
            " samples in batches of " + std::to_string(group.rows);
    last = group.nodes[0];
  }
  if (sizes < 2) return;
  warnings->push_back(
      {graph.layer(last).At(),
       text + ": sources that differ in these numbers are read independently, as in Caffe, so "
              "that their samples do not stay together; give them equal numbers, or set "
              "independent: true in a source that belongs to no other"});
}

}  // namespace

std::vector<SampleGroup> FindSampleGroups(const Graph& graph) {
  using Key = std::tuple<int64_t, std::string, int64_t>;
  std::map<Key, size_t> known;
  std::vector<std::vector<int>> members;
  for (int node = 0; node < static_cast<int>(graph.nodes.size()); ++node) {
    const SampleSet* set = SamplesOf(graph, node);
    if (set == nullptr) continue;
    // A camera has neither an end nor a kind.
    const bool alone = IsIndependent(graph, node) || (set->count == 0 && set->kind.empty());
    const Key key{set->count, set->kind, RowsOf(graph, node)};
    const auto found = alone ? known.end() : known.find(key);
    if (found != known.end()) {
      members[found->second].push_back(node);
      continue;
    }
    if (!alone) known[key] = members.size();
    members.push_back({node});
  }
  std::vector<SampleGroup> groups;
  for (const std::vector<int>& nodes : members) groups.push_back(GroupOf(graph, nodes));
  return groups;
}

std::vector<Warning> SampleWarnings(const Graph& graph) {
  const std::vector<SampleGroup> groups = FindSampleGroups(graph);
  std::vector<Warning> warnings;
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    const LayerSpec& layer = graph.layer(static_cast<int>(node));
    if (!layer.param.independent() || graph.nodes[node].bottoms.empty()) continue;
    warnings.push_back({layer.At("independent"), "layer '" + layer.name() +
                                                     "': independent has no effect, because the "
                                                     "layer is not a source of samples"});
  }
  WarnOfSizes(graph, groups, &warnings);
  for (const SampleGroup& group : groups) {
    for (const std::string& mistake : MovesThatDiffer(graph, group.nodes))
      warnings.push_back({graph.layer(group.nodes.back()).At("transform_param"), mistake});
  }
  return warnings;
}

std::vector<std::string> SampleNotes(const Graph& graph) {
  std::vector<std::string> notes;
  for (const SampleGroup& group : FindSampleGroups(graph)) {
    if (group.nodes.size() < 2) continue;
    std::string order;
    if (group.rule.classes != nullptr) order += ", every class equally often";
    if (group.rule.shuffle) order += ", shuffled";
    if (group.rule.rand_skip > 0) order += ", after a random number of them";
    notes.push_back(StrCat("Sample i of ", Layers(graph, group.nodes), " is one sample",
                           group.rule.count == 0 ? "" : " of " + std::to_string(group.rule.count),
                           ": they are read in one order", order, ", and moved alike"));
  }
  return notes;
}

}  // namespace doppio
