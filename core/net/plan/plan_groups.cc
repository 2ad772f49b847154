#include "core/net/plan/plan_groups.h"

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
  return AddReorder(source, from, to, reader, group(source).place);
}

int GroupMaker::Move(int source, int reader) {
  const int place = draft_.PlaceOf(draft_.graph->nodes[reader]);
  if (group(source).place == place) return source;
  for (const int known : group(source).converted) {
    if (group(known).place == place) return known;
  }
  const TensorSpec spec = group(source).spec;
  return AddReorder(source, spec, spec, reader, place);
}

// Adds an item that makes the numbers of `source` in another layout, type or place.
int GroupMaker::AddReorder(int source, const TensorSpec& from, const TensorSpec& to, int reader,
                           int place) {
  Item item;
  item.reorder = true;
  item.move = place != group(source).place;
  item.place = place;
  item.node = reader;
  item.bottoms = {source};
  item.bottom_specs = {from};
  item.backward = draft_.options.backward;
  item.bottom_gradient = {true};
  item.top_specs = {to};
  const int made = AddGroup(to, place);
  group(made).edge = group(source).edge;
  item.tops = {made};
  AddItem(std::move(item));
  group(source).converted.push_back(made);
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
