// The element-wise math of RNN and LSTM, as functors of an index that all devices run. Arrays have
// the shape (steps, streams, hidden) and are in row-major order, unless a comment says otherwise.
//
// LSTM: i, f, o = logistic(.), g = tanh(.), c' = f c + i g, h' = o tanh(c') (Hochreiter and
// Schmidhuber, 1997, with the forget gate of Gers et al., 2000). RNN: h' = tanh(.), and the top is
// tanh(W_ho h' + b_o). The states of the previous step are multiplied by cont.
#ifndef DOPPIO_LAYERS_RECURRENT_RECURRENT_OPS_H_
#define DOPPIO_LAYERS_RECURRENT_RECURRENT_OPS_H_

#include <cmath>
#include <cstdint>

#include "core/base/host_device.h"
#include "layers/activation/activation_ops.h"

namespace doppio {

// Returns cont * value, but 0 if cont is 0: a sequence that begins must not depend on the previous
// one, even if its values are NaN.
template <class T>
DOPPIO_HD T Continued(T cont, T value) {
  return cont == 0 ? T(0) : cont * value;
}

// Writes the states that each step continues from to `to`: the state of the previous step, times
// cont.
template <class T>
struct ContinueStates {
  int64_t hidden, state_size;
  const T* cont;    // (steps, streams)
  const T* first;   // the state before the first step
  const T* states;  // the states after each step
  T* to;
  DOPPIO_HD void operator()(int64_t i) const {
    to[i] = Continued(cont[i / hidden], i < state_size ? first[i] : states[i - state_size]);
  }
};

// Returns the argument of an activation function: the part x that comes from the bottom, plus the
// static input's part, the part of h and the bias. `recurrent`, the product of h and the weights,
// is not yet multiplied by cont.
template <class T>
struct StepInput {
  int64_t columns;
  const T* bias;       // may be null
  const T* fixed;      // (streams, columns); may be null
  const T* recurrent;  // (streams, columns); may be null
  const T* cont;       // cont of the step
  DOPPIO_HD T operator()(T x, int64_t stream, int64_t column) const {
    const int64_t at = stream * columns + column;
    if (fixed != nullptr) x += fixed[at];
    if (recurrent != nullptr) x += Continued(cont[stream], recurrent[at]);
    return bias == nullptr ? x : x + bias[column];
  }
};

// One step of LSTM over (streams, hidden). `gates` (streams, 4 * hidden) contains the part of x on
// entry, and the gates after their activation functions on return.
template <class T>
struct LstmStep {
  int64_t hidden;
  StepInput<T> input;
  const T* before;  // c of the previous step
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

// One step of RNN over (streams, hidden), or the output of RNN over (steps * streams, hidden). `y`
// contains the part of x on entry, and the result on return.
template <class T>
struct TanhStep {
  StepInput<T> input;
  T* y;
  DOPPIO_HD void operator()(int64_t i) const {
    const int64_t row = i / input.columns;
    y[i] = std::tanh(input(y[i], row, i - row * input.columns));
  }
};

// The gradient of a state: the sum of the gradient from the top and the gradient from the next
// step, or, after the last step, the gradient of the exposed state.
template <class T>
struct StateGradient {
  const T* top;        // may be null
  const T* next;       // may be null
  const T* cont_next;  // cont of the next step; null after the last step
  DOPPIO_HD T operator()(int64_t at, int64_t hidden) const {
    const T from_top = top == nullptr ? T(0) : top[at];
    if (next == nullptr) return from_top;
    return from_top +
           (cont_next == nullptr ? next[at] : Continued(cont_next[at / hidden], next[at]));
  }
};

// The gradients of one step of LSTM.
template <class T>
struct LstmStepBackward {
  int64_t hidden;
  const T* cont;
  const T* before;  // c of the previous step
  const T* gates;
  const T* c;
  StateGradient<T> dh;
  const T* dc;  // may be null
  T* dgates;    // gradient of the gates before their activation functions
  T* dbefore;   // gradient of `before`; may be the same memory as dc
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

// The gradient of TanhStep: dx = dy * (1 - y^2).
template <class T>
struct TanhStepBackward {
  int64_t hidden;
  const T* y;
  StateGradient<T> dy;
  T* dx;
  DOPPIO_HD void operator()(int64_t i) const { dx[i] = dy(i, hidden) * (T(1) - y[i] * y[i]); }
};

// Writes the sums over all steps: to[i] = sum of from[t * size + i] over t.
template <class T>
struct SumOverSteps {
  int64_t steps, size;  // size: number of elements of a step
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
