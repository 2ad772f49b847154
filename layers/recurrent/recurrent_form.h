// The form of RNN and LSTM: what their kernels need from the net file and the bottoms' shapes. Both
// layers compute what Caffe's layers of the same names unroll, with their blobs in the same order:
//
//   bottoms  x: T x N x ...; cont: T x N; optionally a static input, N x ..., which is an input of
//            every step; with expose_hidden the states before the first step, each 1 x N x D
//   tops     T x N x D; with expose_hidden the states after the last step, each 1 x N x D
//   blobs    LSTM: W_xc, b_c, [W_xc_static], W_hc; each has D rows for each of i, f, o, g
//            RNN:  W_xh, b_h, [W_xh_static], W_hh, W_ho, b_o
//
// with D = num_output, T time steps and N independent streams. The states are h and, in LSTM, c.
// The gates are i, f, o and g.
#ifndef DOPPIO_LAYERS_RECURRENT_RECURRENT_FORM_H_
#define DOPPIO_LAYERS_RECURRENT_RECURRENT_FORM_H_

#include <cstddef>
#include <cstdint>

namespace doppio {

struct RecurrentForm {
  // T * N, the number of rows that are computed for all steps at once.
  int64_t rows() const { return steps * streams; }
  int64_t state_size() const { return streams * hidden; }  // elements of one state of all streams
  // Returns the index of W_hc or W_hh among the blobs.
  size_t hidden_weights() const { return has_static ? 3 : 2; }
  // Returns the index of W_ho among the blobs (RNN).
  size_t output_weights() const { return hidden_weights() + 1; }

  // lstm: false for RNN. exposed: expose_hidden. has_static: there is a static input.
  bool lstm = false, exposed = false, has_static = false;
  int64_t hidden = 0;  // D
  int64_t gates = 0;   // rows of W_xc or W_xh: 4 D in LSTM, D in RNN
  // T, N, and the values per stream and step of x and of the static input.
  int64_t steps = 0, streams = 0, inputs = 0, static_inputs = 0;
  int states = 1;          // number of states
  size_t first_state = 2;  // index of the first bottom that is a state, with expose_hidden
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_RECURRENT_RECURRENT_FORM_H_
