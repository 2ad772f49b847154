// Finds the times at which backward works on each parameter's gradient.
#include <algorithm>

#include "core/net/plan/plan_draft.h"

namespace doppio {

GradientUse FindGradientUse(const Draft& draft, const Plan& plan) {
  GradientUse found;
  std::map<int, size_t> place;
  for (size_t t = 0; t < draft.items.size(); ++t) {
    const Item& item = draft.items[t];
    if (item.reorder || !item.backward) continue;
    const Unit& unit = draft.UnitOf(item);
    const int time = draft.BackwardTime(static_cast<int>(t));
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

}  // namespace doppio
