#include "core/net/plan/plan_groups.h"

#include <utility>

namespace doppio {

int GroupMaker::Convert(int source, const TensorSpec& wanted, int reader) {
  TensorSpec from = group(source).spec;
  if (from.layout == wanted.layout && from.dtype == wanted.dtype) return source;
  if (from.layout.plain() && !wanted.layout.plain()) from.shape = wanted.shape;
  const TensorSpec to{from.shape, wanted.dtype, wanted.layout};
  for (const int known : group(source).converted) {
    if (group(known).place != group(source).place) continue;
    const TensorSpec& spec = group(known).spec;
    const bool same_axes = to.layout.plain() || spec.shape == to.shape;
    if (same_axes && spec.dtype == to.dtype && spec.layout == to.layout) return known;
  }
  ++reorders_;
  const int made = AddReorder(ReorderOf(source, from, reader, group(source).place), to);
  group(source).converted.push_back(made);
  return made;
}

int GroupMaker::Move(int source, int reader) {
  const int place = draft_.PlaceOf(draft_.graph->nodes[reader]);
  if (group(source).place == place) return source;
  for (const int known : group(source).converted) {
    if (group(known).place == place) return known;
  }
  const TensorSpec spec = group(source).spec;
  const int made = AddReorder(ReorderOf(source, spec, reader, place), spec);
  group(source).converted.push_back(made);
  return made;
}

int GroupMaker::Alias(int source, int edge, int n) {
  const Node& node = draft_.graph->nodes[n];
  const TensorSpec spec = group(source).spec;
  Item item = ReorderOf(source, spec, n, group(source).place);
  item.view = true;
  item.backward = item.backward && node.backward;
  item.bottom_gradient = {node.bottom_gradient[0]};
  const int made = AddReorder(std::move(item), spec);
  group(made).edge = edge;
  group(made).pinned = group(source).pinned;
  return made;
}

// Returns an item that makes the numbers of `source` in another layout, type or place.
Item GroupMaker::ReorderOf(int source, const TensorSpec& from, int reader, int place) const {
  Item item;
  item.reorder = true;
  item.move = place != draft_.groups[source].place;
  item.place = place;
  item.node = reader;
  item.bottoms = {source};
  item.bottom_specs = {from};
  item.backward = draft_.options.backward;
  item.bottom_gradient = {true};
  return item;
}

// Adds the item and returns the group of its top.
int GroupMaker::AddReorder(Item item, const TensorSpec& to) {
  const int made = AddGroup(to, item.place);
  group(made).edge = group(item.bottoms[0]).edge;
  item.top_specs = {to};
  item.tops = {made};
  AddItem(std::move(item));
  return made;
}

int GroupMaker::AddGroup(const TensorSpec& spec, int place) {
  Group g;
  g.spec = spec;
  g.place = place;
  g.item = static_cast<int>(draft_.items.size());
  draft_.groups.push_back(g);
  return static_cast<int>(draft_.groups.size()) - 1;
}

void GroupMaker::AddItem(Item item) {
  for (int b : item.bottoms) group(b).readers.push_back(static_cast<int>(draft_.items.size()));
  draft_.items.push_back(std::move(item));
}

}  // namespace doppio
