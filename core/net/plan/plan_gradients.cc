// Decides which gradients share memory and how long each lives, and finds the steps that contribute
// to the gradients of parameters.
#include <algorithm>
#include <map>
#include <set>

#include "core/net/plan/plan_draft.h"

namespace doppio {
namespace {

class GradientPlanner {
 public:
  explicit GradientPlanner(Draft* draft) : draft_(*draft) {}

  void Run() {
    for (auto it = draft_.items.rbegin(); it != draft_.items.rend(); ++it) Place(&*it);
  }

 private:
  Group& group(int id) { return draft_.groups[id]; }
  Lifetime& block(int id) { return draft_.blocks[id]; }

  void Place(Item* it) {
    if (!it->backward) return;
    const int time = it->backward_time;
    bool any = false;
    for (int g : it->tops) {
      Group& top = group(g);
      // All readers of this gradient have already been visited, because readers come later in the
      // list and this loop runs backward.
      if (top.grad_storage < 0 && top.loss_weight != 0) top.constant_grad = true;
      if (top.grad_storage >= 0) Extend(top.grad_storage, time);
      it->top_grads.push_back(top.constant_grad ? -2 : top.grad_storage);
      any = any || top.constant_grad || top.grad_storage >= 0;
    }
    it->bottom_grads.assign(it->bottoms.size(), -1);
    if (it->reorder && !any) it->backward = false;
    if (!it->backward) return;
    if (!it->reorder && draft_.UnitOf(*it).shape.overwrites_top_gradients)
      OwnTopGradients(it, time);
    for (size_t i = 0; i < it->bottoms.size(); ++i) {
      const bool read = !it->reorder || draft_.options.keep_all || Wanted(it->bottoms[i]);
      if (it->bottom_gradient[i] && read) Contribute(it, i, time);
    }
    for (int g : it->tops) {
      if (group(g).grad_storage >= 0) --readers_[group(g).grad_storage];
    }
  }

  // Returns true if the maker of `g` uses its gradient.
  bool Wanted(int g) { return draft_.items[group(g).item].backward; }

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
      it->top_grads[i] = draft_.AddBlock(it->place, it->top_specs[i].bytes(), time, time);
      it->copies.push_back({static_cast<int>(i), there});
    }
  }

  void Contribute(Item* it, size_t i, int time) {
    const int g = it->bottoms[i];
    Group& bottom = group(g);
    const bool passed = PassesGradient(*it, i);
    const auto own = [&] { return draft_.AddBlock(bottom.place, bottom.spec.bytes(), time, time); };
    if (bottom.grad_storage < 0 && bottom.loss_weight != 0 && !bottom.implicit_weight) {
      SetGradient(g, own(), time);
      it->fills.push_back({g, bottom.grad_storage});
    } else if (bottom.grad_storage < 0) {
      if (passed && !bottom.implicit_weight) {
        SetGradient(g, it->top_grads[0], time);
        draft_.memory.unshared += PlacedBytes(bottom.spec.bytes());
        return;
      }
      const bool shares = MayShareGradient(*it, i);
      if (shares) draft_.memory.unshared += PlacedBytes(it->top_specs[0].bytes());
      SetGradient(g, shares ? it->top_grads[0] : own(), time);
      if (bottom.implicit_weight) {
        // The block also holds the weight of the loss in the next pass.
        block(bottom.grad_storage).first = 0;
        block(bottom.grad_storage).last = draft_.end();
      }
      it->bottom_grads[i] = bottom.grad_storage;
      return;
    }
    const int before = bottom.grad_storage;
    const int from = passed ? it->top_grads[0] : (it->bottom_grads[i] = own());
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

  // Returns true if bottom i's gradient equals the top's gradient after this item.
  bool PassesGradient(const Item& it, size_t i) {
    if (it.reorder || draft_.options.keep_all || it.top_grads[0] < 0) return false;
    return draft_.UnitOf(it).shape.Passes(i) && SameMemory(it.bottom_specs[i], it.top_specs[0]);
  }

  // Returns true if the bottom's gradient may overwrite the top's gradient, because only this item
  // reads the latter.
  bool MayShareGradient(const Item& it, size_t i) {
    if (i != 0 || !it.in_place_ok || draft_.options.keep_all || it.reorder ||
        group(it.bottoms[i]).implicit_weight)
      return false;
    if (std::count(it.bottom_gradient.begin(), it.bottom_gradient.end(), true) != 1) return false;
    return it.top_grads[0] >= 0 && SameMemory(it.bottom_specs[0], it.top_specs[0]) &&
           OtherReaders(it, it.top_grads[0]) <= 0;
  }

  Draft& draft_;
  // Maps the block of a gradient to the number of layers that still have to read the gradient.
  std::map<int, int> readers_;
};

}  // namespace

void PlaceGradients(Draft* draft) { GradientPlanner(draft).Run(); }

void PlaceConstantGradients(Draft* draft) {
  std::vector<Lifetime> blocks;
  std::vector<int> places;
  for (const Group& g : draft->groups) {
    blocks.push_back({g.constant_grad ? g.spec.bytes() : 0});
    places.push_back(g.place);
  }
  draft->constants = PlaceBlocksOf(places, draft->devices.size(), &blocks);
  for (int64_t* bytes :
       {&draft->memory.activations, &draft->memory.unshared, &draft->saved.plain_activations})
    *bytes += TotalBytes(draft->constants);
  for (size_t g = 0; g < blocks.size(); ++g) draft->groups[g].constant_offset = blocks[g].offset;
}

GradientUse FindGradientUse(const Draft& draft, const Plan& plan) {
  GradientUse found;
  std::map<int, size_t> place;
  for (const Item& item : draft.items) {
    if (item.reorder || !item.backward) continue;
    const Unit& unit = draft.UnitOf(item);
    const int time = item.backward_time;
    // Within a unit, the last parameter comes first, so that the final reversal restores their
    // order.
    for (size_t i = unit.params.size(); i-- > 0;) {
      if (!unit.param_gradient[i]) continue;
      const int store = plan.param_index[unit.params[i]];
      if (place.emplace(store, found.order.size()).second) {
        found.order.push_back(store);
        found.lives.push_back({0, time, time});
      }
      found.lives[place[store]].first = time;  // later items come earlier in backward
    }
  }
  std::reverse(found.order.begin(), found.order.end());
  std::reverse(found.lives.begin(), found.lives.end());
  return found;
}

void MarkContributions(const Draft& draft, Plan* plan) {
  std::map<int, const Unit*> units;
  for (const Unit& unit : draft.units) units[unit.head()] = &unit;
  // Calls `mark` with the parameters of a layer's step, -1 for those that need no gradient.
  const auto each_param = [&](const PlanStep& step, auto mark) {
    if (step.kind != StepKind::kLayer || step.again) return;
    const Unit& unit = *units.at(step.node);
    for (size_t i = 0; i < unit.params.size(); ++i)
      mark(unit.param_gradient[i] ? plan->param_index[unit.params[i]] : -1);
  };
  std::set<int> begun, complete;
  for (PlanStep& step : plan->backward)
    each_param(step, [&](int store) {
      step.first_use.push_back(store >= 0 && begun.insert(store).second);
    });
  // A parameter's gradient is complete after the last step that adds to it.
  for (auto step = plan->backward.rbegin(); step != plan->backward.rend(); ++step)
    each_param(*step, [&](int store) {
      if (store >= 0 && complete.insert(store).second) step->ready.push_back(store);
    });
}

}  // namespace doppio
