// What one update does to one element, in Caffe's order: clip and divide by iter_size, weight
// decay, rule, write. The CPU pass (apply.cc) and the GPU pass run this same function.
#ifndef DOPPIO_SOLVERS_UPDATE_ELEMENT_H_
#define DOPPIO_SOLVERS_UPDATE_ELEMENT_H_

#include "solvers/apply.h"
#include "solvers/rules.h"

namespace doppio {

// The same for all elements of one update.
template <class T>
struct UpdateScalars {
  RuleScalars<T> rule;
  T scale = 1;      // clipping factor / iter_size / loss scale
  bool l1 = false;  // weight decay by the sign of the value instead of the value
};

template <class T>
UpdateScalars<T> ScalarsOf(const UpdateNumbers& numbers) {
  UpdateScalars<T> s;
  s.rule.momentum = static_cast<T>(numbers.rule.momentum);
  s.rule.momentum2 = static_cast<T>(numbers.rule.momentum2);
  s.rule.delta = static_cast<T>(numbers.rule.delta);
  s.rule.rms_decay = static_cast<T>(numbers.rule.rms_decay);
  s.scale = static_cast<T>(numbers.scale);
  s.l1 = numbers.l1;
  return s;
}

// `rate` and `decay` have the parameter's multipliers in them. Zero value, gradient and history
// stay zero, so the padding of opaque layouts may be passed over like any element.
template <class Rule, class T>
DOPPIO_HD inline void UpdateElement(const UpdateScalars<T>& s, T rate, T decay, T gradient,
                                    T* value, T* history) {
  const T w = *value;
  const T pull = s.l1 ? T((w > T(0)) - (w < T(0))) : w;
  const T g = gradient * s.scale + decay * pull;
  *value = w - Rule::template Step<T>(s.rule, rate, g, history);
}

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_ELEMENT_H_
