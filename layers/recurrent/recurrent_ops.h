// What RNN and LSTM do to single elements, as functions of an index that every device runs. Arrays
// are (steps, streams, hidden), plain; what belongs to one step only is named so.
//
// LSTM: i, f, o = logistic(.), g = tanh(.), c' = f c + i g, h' = o tanh(c') (Hochreiter and
// Schmidhuber, 1997, with the forget gate of Gers et al., 2000). RNN: h' = tanh(.), and the top is
// tanh(W_ho h' + b_o). States of the step before are multiplied by cont.
#ifndef DOPPIO_LAYERS_RECURRENT_RECURRENT_OPS_H_
#define DOPPIO_LAYERS_RECURRENT_RECURRENT_OPS_H_

#include <cmath>
#include <cstdint>

#include "core/base/host_device.h"
#include "layers/activation/activation_ops.h"

namespace doppio {

// Where a sequence begins nothing of what was before is left, were it NaN.
template <class T>
DOPPIO_HD T Continued(T cont, T value) {
  return cont == 0 ? T(0) : cont * value;
}

// to = what each step goes on from: the state before it, times cont.
template <class T>
struct ContinueStates {
  int64_t hidden, state_size;
  const T* cont;    // (steps, streams)
  const T* first;   // before the first step
  const T* states;  // after each step
  T* to;
  DOPPIO_HD void operator()(int64_t i) const {
    to[i] = Continued(cont[i / hidden], i < state_size ? first[i] : states[i - state_size]);
  }
};

// What is squashed, of which x's part is there: with the bias, the static input's part and the part
// of h, whose product with the weights is not yet multiplied by cont.
template <class T>
struct StepInput {
  int64_t columns;
  const T* bias;       // may be null
  const T* fixed;      // (streams, columns); may be null
  const T* recurrent;  // likewise
  const T* cont;       // of the step
  DOPPIO_HD T operator()(T x, int64_t stream, int64_t column) const {
    const int64_t at = stream * columns + column;
    if (fixed != nullptr) x += fixed[at];
    if (recurrent != nullptr) x += Continued(cont[stream], recurrent[at]);
    return bias == nullptr ? x : x + bias[column];
  }
};

// A step of LSTM over (streams, hidden). In `gates` (streams, 4 * hidden) x's part becomes what it
// is after squashing.
template <class T>
struct LstmStep {
  int64_t hidden;
  StepInput<T> input;
  const T* before;  // c
  T* gates;
  T* c;
  T* h;
  DOPPIO_HD void operator()(int64_t at) const {
    const int64_t stream = at / hidden, d = at - stream * hidden;
    T* gate = gates + stream * 4 * hidden + d;
    const T i = Logistic(input(gate[0], stream, d));
    const T f = Logistic(input(gate[hidden], stream, hidden + d));
    const T o = Logistic(input(gate[2 * hidden], stream, 2 * hidden + d));
    const T g = std::tanh(input(gate[3 * hidden], stream, 3 * hidden + d));
    gate[0] = i;
    gate[hidden] = f;
    gate[2 * hidden] = o;
    gate[3 * hidden] = g;
    c[at] = f * Continued(input.cont[stream], before[at]) + i * g;
    h[at] = o * std::tanh(c[at]);
  }
};

// A step of RNN over (streams, hidden), and its output over (steps * streams, hidden).
template <class T>
struct TanhStep {
  StepInput<T> input;
  T* y;
  DOPPIO_HD void operator()(int64_t i) const {
    const int64_t row = i / input.columns;
    y[i] = std::tanh(input(y[i], row, i - row * input.columns));
  }
};

// The gradient that a state gets: from the top, and from the next step, or, after the last one,
// from whoever reads the state.
template <class T>
struct StateGradient {
  const T* top;        // may be null
  const T* next;       // may be null
  const T* cont_next;  // of the next step; null after the last one
  DOPPIO_HD T operator()(int64_t at, int64_t hidden) const {
    const T from_top = top == nullptr ? T(0) : top[at];
    if (next == nullptr) return from_top;
    return from_top +
           (cont_next == nullptr ? next[at] : Continued(cont_next[at / hidden], next[at]));
  }
};

template <class T>
struct LstmStepBackward {
  int64_t hidden;
  const T* cont;
  const T* before;  // c
  const T* gates;
  const T* c;
  StateGradient<T> dh;
  const T* dc;  // may be null
  T* dgates;    // before squashing
  T* dbefore;   // may be dc
  DOPPIO_HD void operator()(int64_t at) const {
    const int64_t stream = at / hidden, first = stream * 4 * hidden + at - stream * hidden;
    const T i = gates[first], f = gates[first + hidden], o = gates[first + 2 * hidden],
            g = gates[first + 3 * hidden];
    const T squashed = std::tanh(c[at]), dh_here = dh(at, hidden);
    const T dc_here = (dc == nullptr ? T(0) : dc[at]) + dh_here * o * (T(1) - squashed * squashed);
    T* to = dgates + first;
    to[0] = dc_here * g * i * (T(1) - i);
    to[hidden] = dc_here * Continued(cont[stream], before[at]) * f * (T(1) - f);
    to[2 * hidden] = dh_here * squashed * o * (T(1) - o);
    to[3 * hidden] = dc_here * i * (T(1) - g * g);
    dbefore[at] = Continued(cont[stream], dc_here * f);
  }
};

template <class T>
struct TanhStepBackward {
  int64_t hidden;
  const T* y;
  StateGradient<T> dy;
  T* dx;
  DOPPIO_HD void operator()(int64_t i) const { dx[i] = dy(i, hidden) * (T(1) - y[i] * y[i]); }
};

// to[i] = the sum of from[i] over all steps.
template <class T>
struct SumOverSteps {
  int64_t steps, size;  // size: of a step
  const T* from;
  T* to;
  DOPPIO_HD void operator()(int64_t i) const {
    double sum = 0;
    for (int64_t t = 0; t < steps; ++t) sum += static_cast<double>(from[t * size + i]);
    to[i] = static_cast<T>(sum);
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_RECURRENT_RECURRENT_OPS_H_
