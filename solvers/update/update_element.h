// The update of one element, in Caffe's order: clip and divide by iter_size, weight decay, rule,
// write. The CPU pass (apply.cc) and the GPU pass call the same functions.
#ifndef DOPPIO_SOLVERS_UPDATE_UPDATE_ELEMENT_H_
#define DOPPIO_SOLVERS_UPDATE_UPDATE_ELEMENT_H_

#include "solvers/update/apply.h"
#include "solvers/update/rules.h"

namespace doppio {

// Inputs that are the same for all elements of an update.
template <class T>
struct UpdateScalars {
  RuleScalars<T> rule;
  T scale = 1;      // clipping factor / iter_size / loss scale
  bool l1 = false;  // weight decay by the sign of the value instead of the value
};

// Converts the inputs of an update to the type of the parameters.
template <class T>
UpdateScalars<T> ScalarsOf(const UpdateInputs& inputs) {
  UpdateScalars<T> s;
  s.rule.momentum = static_cast<T>(inputs.rule.momentum);
  s.rule.momentum2 = static_cast<T>(inputs.rule.momentum2);
  s.rule.delta = static_cast<T>(inputs.rule.delta);
  s.rule.rms_decay = static_cast<T>(inputs.rule.rms_decay);
  s.rule.unbias = static_cast<T>(inputs.rule.unbias);
  s.rule.unbias2 = static_cast<T>(inputs.rule.unbias2);
  s.scale = static_cast<T>(inputs.scale);
  s.l1 = inputs.l1;
  return s;
}

// Returns the term that weight decay is proportional to: the value (L2) or its sign (L1).
template <class T>
DOPPIO_HD inline T Pull(const UpdateScalars<T>& s, T value) {
  return s.l1 ? T((value > T(0)) - (value < T(0))) : value;
}

// For rules with decoupled weight decay: adds the gradient to the history and returns the direction
// of the update, including weight decay.
template <class Rule, class T>
DOPPIO_HD inline T TakeGradient(const UpdateScalars<T>& s, T decay, T gradient, T value,
                                T* history) {
  return Rule::template Take<T>(s.rule, gradient * s.scale, history) + decay * Pull(s, value);
}

// Updates `*value` and `history`. Returns the amount subtracted from the value. `rate` and `decay`
// include the parameter's multipliers. If value, gradient and history are zero, they stay zero, so
// padding of opaque layouts can be processed like any other element. Rules with a trust ratio
// compute it from the norm of the directions that TakeGradient returns, so they call that function
// first.
template <class Rule, class T>
DOPPIO_HD inline T UpdateElement(const UpdateScalars<T>& s, T rate, T decay, T gradient, T* value,
                                 T* history) {
  const T w = *value;
  T step;
  if constexpr (Rule::kTrustRatio) {
    step = rate * (Rule::template Direction<T>(s.rule, history) + decay * Pull(s, w));
  } else if constexpr (Rule::kDecoupled) {
    step = rate * TakeGradient<Rule>(s, decay, gradient, w, history);
  } else {
    const T g = gradient * s.scale + decay * Pull(s, w);
    step = Rule::template Step<T>(s.rule, rate, g, history);
  }
  *value = w - step;
  return step;
}

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_UPDATE_ELEMENT_H_
