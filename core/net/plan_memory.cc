// Which values and gradients share memory, and how long each block lives.
#include <algorithm>

#include "core/net/plan_draft.h"

namespace doppio {
namespace {

class MemoryPlanner {
 public:
  MemoryPlanner(Draft* draft, Plan* plan)
      : draft_(*draft), plan_(*plan), graph_(*draft->graph) {}

  void Run() {
    FindBackwardReads();
    for (size_t t = 0; t < draft_.items.size(); ++t) PlaceValues(static_cast<int>(t));
    ExtendValues();
    for (size_t t = draft_.items.size(); t-- > 0;) {
      if (draft_.options.backward) PlaceGradients(static_cast<int>(t));
    }
    for (size_t t = 0; t < draft_.items.size(); ++t) PlaceSaved(static_cast<int>(t));
    for (const Lifetime& block : draft_.blocks) {
      plan_.memory.unshared += block.bytes;
    }
    plan_.memory.unshared += shared_bytes_;
  }

 private:
  Group& group(int id) { return draft_.groups[static_cast<size_t>(id)]; }
  Item& item(int t) { return draft_.items[static_cast<size_t>(t)]; }
  Lifetime& block(int id) { return draft_.blocks[static_cast<size_t>(id)]; }

  int NewBlock(int64_t bytes, int first, int last) {
    Lifetime life;
    life.bytes = bytes;
    life.first = first;
    life.last = last;
    draft_.blocks.push_back(life);
    return static_cast<int>(draft_.blocks.size()) - 1;
  }

  void FindBackwardReads() {
    for (size_t i = 0; i < draft_.items.size(); ++i) {
      const Item& it = draft_.items[i];
      if (it.reorder || !it.backward) continue;
      const LayerShape& shape = draft_.UnitOf(it).shape;
      const int time = draft_.BackwardTime(static_cast<int>(i));
      auto read = [&](int g) {
        group(g).read_backward = true;
        group(g).last_backward_read = std::max(group(g).last_backward_read, time);
      };
      for (size_t b = 0; shape.backward_reads_bottoms && b < it.bottoms.size(); ++b) {
        const bool passes = b < shape.passes_gradient.size() && shape.passes_gradient[b];
        if (!passes) read(it.bottoms[b]);
      }
      if (shape.backward_reads_tops) std::for_each(it.tops.begin(), it.tops.end(), read);
    }
  }

  // Nobody reads the old value once item `t` has made the new one over it.
  bool MayOverwrite(int g, int t) {
    const Group& old = group(g);
    if (old.pinned || old.read_backward) return false;
    return *std::max_element(old.readers.begin(), old.readers.end()) == t &&
           std::count(old.readers.begin(), old.readers.end(), t) == 1;
  }

  void PlaceValues(int t) {
    Item& it = item(t);
    for (size_t i = 0; i < it.tops.size(); ++i) {
      Group& top = group(it.tops[i]);
      const bool may = i == 0 && it.in_place_ok && !draft_.options.keep_all && !it.bottoms.empty() &&
                       it.bottom_specs[0].bytes() == top.spec.bytes() &&
                       it.bottom_specs[0].dtype == top.spec.dtype &&
                       it.bottom_specs[0].layout == top.spec.layout;
      if (may && MayOverwrite(it.bottoms[0], t)) {
        top.storage = group(it.bottoms[0]).storage;
        shared_bytes_ += top.spec.bytes();
        continue;
      }
      NoteRefused(it, i);
      top.storage = NewBlock(top.spec.bytes(), top.persistent ? 0 : t, t);
    }
  }

  // Says where the file asks for in-place work that would destroy a value somebody still needs.
  void NoteRefused(const Item& it, size_t top) {
    if (it.reorder || top != 0 || draft_.options.keep_all) return;
    const LayerParameter& param = graph_.layer(it.node).param;
    if (param.bottom_size() == 0 || param.top_size() == 0 || param.bottom(0) != param.top(0)) return;
    plan_.notes.push_back("layer '" + param.name() + "' works in place in the file; '" + param.top(0) +
                          "' gets its own memory because its old value is still read");
  }

  void ExtendValues() {
    for (const Group& g : draft_.groups) {
      Lifetime& life = block(g.storage);
      for (int reader : g.readers) life.last = std::max(life.last, reader);
      life.last = std::max(life.last, g.last_backward_read);
      if (g.pinned) life.last = draft_.end();
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
      // Readers come later in the list, so what they had to say about this gradient has been said.
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
      if (it.bottom_gradient[i] && (!it.reorder || Wanted(it.bottoms[i]))) Contribute(&it, i, time);
    }
    for (int g : it.tops) {
      if (group(g).grad_storage >= 0) --readers_[group(g).grad_storage];
    }
  }

  // Whether the maker of `g` computes with its gradient.
  bool Wanted(int g) {
    const Item& maker = item(group(g).item);
    return maker.backward;
  }

  // How many layers but this item are still to read the gradient in `id`.
  int OtherReaders(const Item& it, int id) {
    int mine = 0;
    for (int g : it.tops) mine += group(g).grad_storage == id ? 1 : 0;
    return readers_[id] - mine;
  }

  void OwnTopGradients(Item* it, int time) {
    for (size_t i = 0; i < it->tops.size(); ++i) {
      const int there = it->top_grads[i];
      if (there == -1 || (there >= 0 && OtherReaders(*it, there) == 0)) continue;
      it->top_grads[i] = NewBlock(it->top_specs[i].bytes(), time, time);
      it->copies.push_back({static_cast<int>(i), there});
    }
  }

  void Contribute(Item* it, size_t i, int time) {
    const int g = it->bottoms[i];
    Group& bottom = group(g);
    const bool passed = PassesGradient(*it, i);
    if (bottom.grad_storage < 0 && bottom.loss_weight != 0 && !bottom.implicit_weight) {
      SetGradient(g, NewBlock(bottom.spec.bytes(), time, time), time);
      it->fills.push_back({g, bottom.grad_storage});
    } else if (bottom.grad_storage < 0) {
      if (passed && !bottom.implicit_weight) {
        SetGradient(g, it->top_grads[0], time);
        shared_bytes_ += bottom.spec.bytes();
        return;
      }
      SetGradient(g, MayShareGradient(*it, i) ? it->top_grads[0]
                                              : NewBlock(bottom.spec.bytes(), time, time), time);
      // Weighs the loss in the next pass as well.
      if (bottom.implicit_weight) KeepAlways(bottom.grad_storage);
      it->bottom_grads[i] = bottom.grad_storage;
      return;
    }
    const int before = bottom.grad_storage;
    int from = passed ? it->top_grads[0] : -1;
    if (!passed) from = it->bottom_grads[i] = NewBlock(bottom.spec.bytes(), time, time);
    Extend(from, time);
    Extend(before, time);
    if (readers_[before] > (Wanted(g) ? 1 : 0)) {
      if (Wanted(g)) --readers_[before];
      SetGradient(g, NewBlock(bottom.spec.bytes(), time, time), time);
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
    return bottom.layout == top.layout && bottom.dtype == top.dtype && bottom.bytes() == top.bytes();
  }

  // Bottom i's gradient is what the top's is after this item.
  bool PassesGradient(const Item& it, size_t i) {
    if (it.reorder || draft_.options.keep_all || it.top_grads[0] < 0) return false;
    const std::vector<bool>& passes = draft_.UnitOf(it).shape.passes_gradient;
    return i < passes.size() && passes[i] && SameMemory(it, i);
  }

  // The bottom's gradient may be written over the top's, which only this item reads.
  bool MayShareGradient(const Item& it, size_t i) {
    if (group(it.bottoms[i]).implicit_weight) return false;
    if (i != 0 || !it.in_place_ok || draft_.options.keep_all || it.reorder) return false;
    if (std::count(it.bottom_gradient.begin(), it.bottom_gradient.end(), true) != 1) return false;
    if (it.top_grads[0] < 0 || !SameMemory(it, 0) || OtherReaders(it, it.top_grads[0]) > 0) return false;
    shared_bytes_ += it.top_specs[0].bytes();
    return true;
  }

  void PlaceSaved(int t) {
    Item& it = item(t);
    if (it.reorder) return;
    const KernelNeeds& needs = plan_.kernels[static_cast<size_t>(it.node)]->needs();
    plan_.memory.scratch = std::max(plan_.memory.scratch, needs.scratch_bytes);
    if (needs.saved_bytes > 0) {
      it.saved = NewBlock(needs.saved_bytes, t, it.backward ? draft_.BackwardTime(t) : t);
    }
  }

  Draft& draft_;
  Plan& plan_;
  const Graph& graph_;
  int64_t shared_bytes_ = 0;
  std::map<int, int> readers_;   // block of a gradient -> layers that are still to read it
};

}  // namespace

void PlanMemory(Draft* draft, Plan* plan) { MemoryPlanner(draft, plan).Run(); }

}  // namespace doppio
