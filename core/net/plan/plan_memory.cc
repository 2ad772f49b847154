// Decides which values and gradients share memory, and how long each block lives.
#include <algorithm>
#include <numeric>
#include <set>

#include "core/net/plan/plan_draft.h"

namespace doppio {
namespace {

class MemoryPlanner {
 public:
  MemoryPlanner(const Plan& plan, Draft* draft)
      : plan_(plan), draft_(*draft), graph_(*draft->graph) {}

  void Run() {
    draft_.scratch.assign(draft_.devices.size(), 0);
    draft_.kept.assign(draft_.devices.size(), 0);
    for (size_t t = 0; t < draft_.items.size(); ++t) PlaceValues(static_cast<int>(t));
    LiveValues();
    for (size_t t = draft_.items.size(); t-- > 0;) {
      if (draft_.options.backward) PlaceGradients(static_cast<int>(t));
    }
    for (size_t t = 0; t < draft_.items.size(); ++t) PlaceSaved(static_cast<int>(t));
    for (const Lifetime& block : draft_.blocks) {
      draft_.memory.unshared += PlacedBytes(block.bytes);
    }
    draft_.memory.unshared += shared_bytes_;
    const auto sum = [](const std::vector<int64_t>& bytes) {
      return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
    };
    draft_.memory.scratch = sum(draft_.scratch);
    draft_.memory.kept = sum(draft_.kept);
  }

 private:
  Group& group(int id) { return draft_.groups[id]; }
  Item& item(int t) { return draft_.items[t]; }
  Lifetime& block(int id) { return draft_.blocks[id]; }

  int NewBlock(int place, int64_t bytes, int first, int last) {
    Lifetime life;
    life.bytes = bytes;
    life.first = first;
    life.last = last;
    draft_.blocks.push_back(life);
    draft_.block_place.push_back(place);
    draft_.uses.emplace_back();
    return static_cast<int>(draft_.blocks.size()) - 1;
  }

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

  void PlaceValues(int t) {
    Item& it = item(t);
    if (it.view) {
      group(it.tops[0]).storage = group(it.bottoms[0]).storage;
      shared_bytes_ += PlacedBytes(group(it.tops[0]).spec.bytes());
      return;
    }
    for (size_t i = 0; i < it.tops.size(); ++i) {
      Group& top = group(it.tops[i]);
      const bool may = i == 0 && it.in_place_ok && !draft_.options.keep_all &&
                       !it.bottoms.empty() && it.bottom_specs[0].bytes() == top.spec.bytes() &&
                       it.bottom_specs[0].dtype == top.spec.dtype &&
                       it.bottom_specs[0].layout == top.spec.layout;
      if (may && MayOverwrite(it.bottoms[0], t)) {
        top.storage = group(it.bottoms[0]).storage;
        shared_bytes_ += PlacedBytes(top.spec.bytes());
        continue;
      }
      NoteRefused(it, i);
      top.storage = NewBlock(top.place, top.spec.bytes(), t, t);
    }
  }

  // Adds a note if the file requests in-place work that would destroy a value that is still needed.
  void NoteRefused(const Item& it, size_t top) {
    if (it.reorder || top != 0 || draft_.options.keep_all) return;
    const LayerParameter& param = graph_.layer(it.node).param;
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

  void LiveValues() {
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

  static void SetLife(std::vector<Span> lives, Lifetime* block) {
    std::sort(lives.begin(), lives.end(),
              [](const Span& a, const Span& b) { return a.first < b.first; });
    block->first = lives.front().first;
    block->last = lives.front().last;
    for (const Span& life : lives) {
      if (life.first > block->last + 1) block->holes.push_back({block->last + 1, life.first - 1});
      block->last = std::max(block->last, life.last);
    }
  }

  bool HasGradient(const Group& g) const { return g.constant_grad || g.grad_storage >= 0; }

  void PlaceGradients(int t) {
    Item& it = item(t);
    if (!it.backward) return;
    const int time = draft_.BackwardTime(t);
    bool any = false;
    for (int g : it.tops) {
      Group& top = group(g);
      // All readers of this gradient have already been visited, because readers come later in the
      // list and this loop runs backward.
      if (top.grad_storage < 0 && top.loss_weight != 0) top.constant_grad = true;
      if (top.grad_storage >= 0) Extend(top.grad_storage, time);
      it.top_grads.push_back(top.constant_grad ? -2 : top.grad_storage);
      any = any || HasGradient(top);
    }
    it.bottom_grads.assign(it.bottoms.size(), -1);
    if (it.reorder && !any) it.backward = false;
    if (!it.backward) return;
    if (!it.reorder && draft_.UnitOf(it).shape.overwrites_top_gradients) OwnTopGradients(&it, time);
    for (size_t i = 0; i < it.bottoms.size(); ++i) {
      const bool read = !it.reorder || draft_.options.keep_all || Wanted(it.bottoms[i]);
      if (it.bottom_gradient[i] && read) Contribute(&it, i, time);
    }
    for (int g : it.tops) {
      if (group(g).grad_storage >= 0) --readers_[group(g).grad_storage];
    }
  }

  // Returns true if the maker of `g` uses its gradient.
  bool Wanted(int g) {
    const Item& maker = item(group(g).item);
    return maker.backward;
  }

  // Returns how many layers other than this item still have to read the gradient in block `id`.
  int OtherReaders(const Item& it, int id) {
    int mine = 0;
    for (int g : it.tops) mine += group(g).grad_storage == id ? 1 : 0;
    return readers_[id] - mine;
  }

  void OwnTopGradients(Item* it, int time) {
    for (size_t i = 0; i < it->tops.size(); ++i) {
      const int there = it->top_grads[i];
      if (there == -1 || (there >= 0 && OtherReaders(*it, there) == 0)) continue;
      it->top_grads[i] = NewBlock(it->place, it->top_specs[i].bytes(), time, time);
      it->copies.push_back({static_cast<int>(i), there});
    }
  }

  void Contribute(Item* it, size_t i, int time) {
    const int g = it->bottoms[i];
    Group& bottom = group(g);
    const bool passed = PassesGradient(*it, i);
    const auto own = [&] { return NewBlock(bottom.place, bottom.spec.bytes(), time, time); };
    if (bottom.grad_storage < 0 && bottom.loss_weight != 0 && !bottom.implicit_weight) {
      SetGradient(g, own(), time);
      it->fills.push_back({g, bottom.grad_storage});
    } else if (bottom.grad_storage < 0) {
      if (passed && !bottom.implicit_weight) {
        SetGradient(g, it->top_grads[0], time);
        shared_bytes_ += PlacedBytes(bottom.spec.bytes());
        return;
      }
      SetGradient(g, MayShareGradient(*it, i) ? it->top_grads[0] : own(), time);
      // The block also holds the weight of the loss in the next pass.
      if (bottom.implicit_weight) KeepAlways(bottom.grad_storage);
      it->bottom_grads[i] = bottom.grad_storage;
      return;
    }
    const int before = bottom.grad_storage;
    int from = passed ? it->top_grads[0] : -1;
    if (!passed) from = it->bottom_grads[i] = own();
    Extend(from, time);
    Extend(before, time);
    if (readers_[before] > (Wanted(g) ? 1 : 0)) {
      if (Wanted(g)) --readers_[before];
      SetGradient(g, own(), time);
    }
    it->additions.push_back({static_cast<int>(i), from, before, bottom.grad_storage});
  }

  void SetGradient(int g, int id, int time) {
    group(g).grad_storage = id;
    if (Wanted(g)) ++readers_[id];
    Extend(id, time);
  }

  void Extend(int id, int time) {
    block(id).last = std::max(block(id).last, draft_.options.keep_all ? draft_.end() : time);
  }

  void KeepAlways(int id) {
    block(id).first = 0;
    block(id).last = draft_.end();
  }

  bool SameMemory(const Item& it, size_t i) {
    const TensorSpec& top = it.top_specs[0];
    const TensorSpec& bottom = it.bottom_specs[i];
    return bottom.layout == top.layout && bottom.dtype == top.dtype &&
           bottom.bytes() == top.bytes();
  }

  // Returns true if bottom i's gradient equals the top's gradient after this item.
  bool PassesGradient(const Item& it, size_t i) {
    if (it.reorder || draft_.options.keep_all || it.top_grads[0] < 0) return false;
    const std::vector<bool>& passes = draft_.UnitOf(it).shape.passes_gradient;
    return i < passes.size() && passes[i] && SameMemory(it, i);
  }

  // Returns true if the bottom's gradient may overwrite the top's gradient, because only this item
  // reads the latter.
  bool MayShareGradient(const Item& it, size_t i) {
    if (group(it.bottoms[i]).implicit_weight) return false;
    if (i != 0 || !it.in_place_ok || draft_.options.keep_all || it.reorder) return false;
    if (std::count(it.bottom_gradient.begin(), it.bottom_gradient.end(), true) != 1) return false;
    if (it.top_grads[0] < 0 || !SameMemory(it, 0) || OtherReaders(it, it.top_grads[0]) > 0)
      return false;
    shared_bytes_ += PlacedBytes(it.top_specs[0].bytes());
    return true;
  }

  void PlaceSaved(int t) {
    Item& it = item(t);
    if (it.reorder) return;
    const KernelNeeds& needs = plan_.kernels[it.node]->needs();
    int64_t& scratch = draft_.scratch[it.place];
    scratch = std::max(scratch, needs.scratch_bytes);
    draft_.kept[it.place] += needs.kept_bytes;
    if (needs.saved_bytes == 0) return;
    it.saved = NewBlock(it.place, needs.saved_bytes, t, t);
    std::vector<int>& uses = draft_.uses[it.saved] = {t};
    std::vector<Span> lives = {{t, t}};
    if (it.again) {
      lives.push_back({it.recompute_time, it.recompute_time});
      uses.push_back(it.recompute_time);
    }
    if (it.backward) {
      lives.back().last = it.backward_time;
      uses.push_back(it.backward_time);
    }
    SetLife(lives, &block(it.saved));
  }

  const Plan& plan_;
  Draft& draft_;
  const Graph& graph_;
  int64_t shared_bytes_ = 0;
  // Maps the block of a gradient to the number of layers that still have to read the gradient.
  std::map<int, int> readers_;
};

}  // namespace

void PlaceMemory(const Plan& plan, Draft* draft) { MemoryPlanner(plan, draft).Run(); }

}  // namespace doppio
