// RNN and LSTM, read from a file: what Caffe's layers of these names unroll, with blobs in their
// order.
//
//   bottoms  x: T x N x ..., cont: T x N, optionally a static input: N x ..., which each step sees;
//   with expose_hidden the
//            states before the first step, each 1 x N x D
//   tops     T x N x D; with expose_hidden the states after the last step, each 1 x N x D
//   blobs    LSTM: W_xc, b_c, [W_xc_static], W_hc, whose rows are D each of the gates i, f, o, g
//            RNN:  W_xh, b_h, [W_xh_static], W_hh, W_ho, b_o
//
// with D = num_output, T time steps and N independent streams. The states are h and, in LSTM, c.
#ifndef DOPPIO_LAYERS_RECURRENT_RECURRENT_FORM_H_
#define DOPPIO_LAYERS_RECURRENT_RECURRENT_FORM_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/net/graph/layer.h"

namespace doppio {

struct RecurrentForm {
  RecurrentForm(const LayerSpec& spec, const std::vector<Shape>& bottoms)
      : lstm(spec.type() == "LSTM"),
        exposed(spec.param.recurrent_param().expose_hidden()),
        hidden(spec.param.recurrent_param().num_output()),
        gates((lstm ? 4 : 1) * hidden),
        steps(bottoms[0].dim_or_1(0)),
        streams(bottoms[0].dim_or_1(1)),
        inputs(bottoms[0].count(std::min(2, bottoms[0].rank()))),
        states(lstm ? 2 : 1) {
    const size_t others = 2 + static_cast<size_t>(exposed ? states : 0);
    has_static = bottoms.size() > others;
    if (has_static) static_inputs = bottoms[2].count(std::min(1, bottoms[2].rank()));
    first_state = has_static ? 3 : 2;
  }

  int64_t rows() const { return steps * streams; }
  int64_t state_size() const { return streams * hidden; }  // elements of one state
  size_t hidden_weights() const { return has_static ? 3 : 2; }

  bool lstm, exposed, has_static = false;
  int64_t hidden,
      gates;  // numbers of a state, and what is computed from x and h before they are squashed
  int64_t steps, streams, inputs, static_inputs = 0;
  int states;          // that go from step to step
  size_t first_state;  // the bottom, where they are exposed
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_RECURRENT_RECURRENT_FORM_H_
