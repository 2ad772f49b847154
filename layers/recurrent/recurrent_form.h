// What the kernels of RNN and LSTM need of the file and of the bottoms' shapes, and what the layers
// mean: what Caffe's layers of these names unroll, with blobs in their order.
//
//   bottoms  x: T x N x ..., cont: T x N, optionally a static input: N x ..., which each step sees;
//            with expose_hidden the states before the first step, each 1 x N x D
//   tops     T x N x D; with expose_hidden the states after the last step, each 1 x N x D
//   blobs    LSTM: W_xc, b_c, [W_xc_static], W_hc, whose rows are D each of the gates i, f, o, g
//            RNN:  W_xh, b_h, [W_xh_static], W_hh, W_ho, b_o
//
// with D = num_output, T time steps and N independent streams. The states are h and, in LSTM, c.
#ifndef DOPPIO_LAYERS_RECURRENT_RECURRENT_FORM_H_
#define DOPPIO_LAYERS_RECURRENT_RECURRENT_FORM_H_

#include <cstddef>
#include <cstdint>

namespace doppio {

struct RecurrentForm {
  int64_t rows() const { return steps * streams; }
  int64_t state_size() const { return streams * hidden; }  // elements of one state
  size_t hidden_weights() const { return has_static ? 3 : 2; }

  bool lstm = false, exposed = false, has_static = false;
  int64_t hidden = 0;  // numbers of a state
  int64_t gates = 0;   // numbers computed from x and h before they are squashed
  int64_t steps = 0, streams = 0, inputs = 0, static_inputs = 0;
  int states = 1;          // that go from step to step
  size_t first_state = 2;  // the bottom, where they are exposed
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_RECURRENT_RECURRENT_FORM_H_
