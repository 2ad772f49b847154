// Decides which values share memory, how long each block lives, and which memory kernels get.
#include <algorithm>
#include <set>

#include "core/net/plan/plan_draft.h"

namespace doppio {
namespace {

// Sets the life of a block that lives in all of `lives`.
void SetLife(std::vector<Span> lives, Lifetime* block) {
  std::sort(lives.begin(), lives.end(),
            [](const Span& a, const Span& b) { return a.first < b.first; });
  block->first = lives.front().first;
  block->last = lives.front().last;
  for (const Span& life : lives) {
    if (life.first > block->last + 1) block->holes.push_back({block->last + 1, life.first - 1});
    block->last = std::max(block->last, life.last);
  }
}

class ValuePlanner {
 public:
  explicit ValuePlanner(Draft* draft) : draft_(*draft) {}

  void Run() {
    for (size_t t = 0; t < draft_.items.size(); ++t) Place(static_cast<int>(t));
    SetLives();
  }

 private:
  Group& group(int id) { return draft_.groups[id]; }
  Item& item(int t) { return draft_.items[t]; }

  // Returns true if no item reads the old value after item `t` overwrites it with the new value.
  bool MayOverwrite(int g, int t) {
    const Group& old = group(g);
    if (old.pinned || !old.backward_readers.empty() || !RunEquallyOften(old, item(t))) return false;
    return *std::max_element(old.readers.begin(), old.readers.end()) == t &&
           std::count(old.readers.begin(), old.readers.end(), t) == 1;
  }

  // Returns true if the overwriting item runs as often as the item that made the value, so that
  // both write in the same order the second time; a value that is not recomputed must also have no
  // recomputed readers.
  bool RunEquallyOften(const Group& old, const Item& over) {
    const Item& maker = item(old.item);
    if (maker.again) return over.again && over.segment == maker.segment;
    return std::none_of(old.readers.begin(), old.readers.end(),
                        [&](int reader) { return item(reader).again; });
  }

  void Place(int t) {
    Item& it = item(t);
    if (it.view) {
      group(it.tops[0]).storage = group(it.bottoms[0]).storage;
      draft_.memory.unshared += PlacedBytes(group(it.tops[0]).spec.bytes());
      return;
    }
    for (size_t i = 0; i < it.tops.size(); ++i) {
      Group& top = group(it.tops[i]);
      const bool may = i == 0 && it.in_place_ok && !draft_.options.keep_all &&
                       !it.bottoms.empty() && SameMemory(it.bottom_specs[0], top.spec);
      if (may && MayOverwrite(it.bottoms[0], t)) {
        top.storage = group(it.bottoms[0]).storage;
        draft_.memory.unshared += PlacedBytes(top.spec.bytes());
        continue;
      }
      if (i == 0) NoteRefused(t);
      top.storage = draft_.AddBlock(top.place, top.spec.bytes(), t, t);
    }
  }

  // Adds a note if the file requests in-place work that would destroy a value that is still needed,
  // except if only the layer's own backward needs it, as BatchNorm's does: Caffe's layers of these
  // kinds keep a copy themselves.
  void NoteRefused(int t) {
    const Item& it = item(t);
    if (it.reorder || draft_.options.keep_all || it.bottoms.empty()) return;
    if (group(it.bottoms[0]).backward_readers == std::vector<int>{t}) return;
    const LayerParameter& param = draft_.graph->layer(it.node).param;
    if (param.bottom_size() == 0 || param.top_size() == 0 || param.bottom(0) != param.top(0))
      return;
    draft_.notes.push_back("layer '" + param.name() + "' works in place in the file; '" +
                           param.top(0) +
                           "' gets its own memory because its old value is still read");
  }

  // Returns the spans of time in which a value lives: from its first computation, and from its
  // recomputation if it is dropped in between.
  std::vector<Span> LivesOf(const Group& g, std::vector<int>* uses) {
    const Item& maker = item(g.item);
    Span first{g.persistent ? 0 : g.item, g.item},
        second{maker.recompute_time, maker.recompute_time};
    uses->push_back(g.item);
    if (maker.again) uses->push_back(maker.recompute_time);
    auto read = [&](Span* life, int time) {
      life->last = std::max(life->last, time);
      uses->push_back(time);
    };
    Span* later = g.recomputed ? &second : &first;
    for (int reader : g.readers) {
      read(&first, reader);
      if (item(reader).again) read(later, item(reader).recompute_time);
    }
    for (int reader : g.backward_readers) read(later, item(reader).backward_time);
    if (g.pinned) first.last = draft_.end();
    if (!maker.again || second.first <= first.last) return {first};
    return {first, second};
  }

  void SetLives() {
    std::vector<std::vector<Span>> lives(draft_.blocks.size());
    // Blocks that the host may read at any time, so they must not be offloaded.
    std::set<int> fixed;
    for (const Group& g : draft_.groups) {
      const size_t id = g.storage;
      for (const Span& life : LivesOf(g, &draft_.uses[id])) lives[id].push_back(life);
      if (g.pinned || g.persistent) fixed.insert(g.storage);
    }
    for (size_t id = 0; id < lives.size(); ++id) SetLife(lives[id], &draft_.blocks[id]);
    for (int id : fixed) draft_.uses[id].clear();
  }

  Draft& draft_;
};

}  // namespace

int Draft::AddBlock(int place, int64_t bytes, int first, int last) {
  blocks.push_back({bytes, first, last});
  block_place.push_back(place);
  uses.emplace_back();
  memory.unshared += PlacedBytes(bytes);
  return static_cast<int>(blocks.size()) - 1;
}

void PlaceValues(Draft* draft) { ValuePlanner(draft).Run(); }

void PlaceKernelMemory(const Plan& plan, Draft* draft) {
  draft->scratch.assign(draft->devices.size(), 0);
  draft->kept.assign(draft->devices.size(), 0);
  for (size_t t = 0; t < draft->items.size(); ++t) {
    Item& it = draft->items[t];
    if (it.reorder) continue;
    const KernelNeeds& needs = plan.kernels[it.node]->needs();
    int64_t& scratch = draft->scratch[it.place];
    scratch = std::max(scratch, needs.scratch_bytes);
    draft->kept[it.place] += needs.kept_bytes;
    if (needs.saved_bytes == 0) continue;
    const int time = static_cast<int>(t);
    it.saved = draft->AddBlock(it.place, needs.saved_bytes, time, time);
    std::vector<int>& uses = draft->uses[it.saved] = {time};
    std::vector<Span> lives = {{time, time}};
    if (it.again) {
      lives.push_back({it.recompute_time, it.recompute_time});
      uses.push_back(it.recompute_time);
    }
    if (it.backward) {
      lives.back().last = it.backward_time;
      uses.push_back(it.backward_time);
    }
    SetLife(lives, &draft->blocks[it.saved]);
  }
  draft->memory.scratch = TotalBytes(draft->scratch);
  draft->memory.kept = TotalBytes(draft->kept);
}

}  // namespace doppio
