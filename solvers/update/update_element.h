// What one update does to one element, in Caffe's order: clip and divide by iter_size, weight
// decay, rule, write. The CPU pass (apply.cc) and the GPU pass run these same functions.
#ifndef DOPPIO_SOLVERS_UPDATE_UPDATE_ELEMENT_H_
#define DOPPIO_SOLVERS_UPDATE_UPDATE_ELEMENT_H_

#include "solvers/update/apply.h"
#include "solvers/update/rules.h"

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
  s.rule.unbias = static_cast<T>(numbers.rule.unbias);
  s.rule.unbias2 = static_cast<T>(numbers.rule.unbias2);
  s.scale = static_cast<T>(numbers.scale);
  s.l1 = numbers.l1;
  return s;
}

// What weight decay pulls at.
template <class T>
DOPPIO_HD inline T Pull(const UpdateScalars<T>& s, T value) {
  return s.l1 ? T((value > T(0)) - (value < T(0))) : value;
}

// Only for rules with a trust ratio, before UpdateElement: takes the gradient into the history and
// returns where the update will go, whose norm the ratio is made of.
template <class Rule, class T>
DOPPIO_HD inline T TakeGradient(const UpdateScalars<T>& s, T decay, T gradient, T value,
                                T* history) {
  Rule::template Take<T>(s.rule, gradient * s.scale, history);
  return Rule::template Direction<T>(s.rule, history) + decay * Pull(s, value);
}

// `rate` and `decay` have the parameter's multipliers in them. Returns what was subtracted from the
// value. Zero value, gradient and history stay zero, so the padding of opaque layouts may be passed
// over like any element.
template <class Rule, class T>
DOPPIO_HD inline T UpdateElement(const UpdateScalars<T>& s, T rate, T decay, T gradient, T* value,
                                 T* history) {
  const T w = *value;
  T step;
  if constexpr (Rule::kDecoupled) {
    if constexpr (!Rule::kTrustRatio) Rule::template Take<T>(s.rule, gradient * s.scale, history);
    step = rate * (Rule::template Direction<T>(s.rule, history) + decay * Pull(s, w));
  } else {
    const T g = gradient * s.scale + decay * Pull(s, w);
    step = Rule::template Step<T>(s.rule, rate, g, history);
  }
  *value = w - step;
  return step;
}

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_UPDATE_ELEMENT_H_
