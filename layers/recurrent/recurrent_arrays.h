// The arrays in which RNN and LSTM compute, and their places in the memory that the plan provides.
#ifndef DOPPIO_LAYERS_RECURRENT_RECURRENT_ARRAYS_H_
#define DOPPIO_LAYERS_RECURRENT_RECURRENT_ARRAYS_H_

#include <algorithm>
#include <cstdint>

#include "layers/common/room.h"
#include "layers/recurrent/recurrent_form.h"

namespace doppio {

template <class T>
struct RecurrentArrays {
  // `sums_bytes` is the size of sums_room. With null pointers, only computes the sizes.
  RecurrentArrays(const RecurrentForm& f, bool backward, int64_t sums_bytes, void* saved,
                  void* scratch) {
    Room kept(saved), forward(scratch), back(scratch);
    Room* lasting = backward ? &kept : &forward;
    gates = lasting->Take<T>(f.rows() * f.gates);
    if (f.lstm) cells = lasting->Take<T>(f.rows() * f.hidden);
    recurrent = forward.Take<T>(f.streams * f.gates);
    if (f.has_static) fixed = forward.Take<T>(f.streams * f.gates);
    if (backward) {
      dgates = back.Take<T>(f.rows() * f.gates);
      continued = back.Take<T>(f.rows() * f.hidden);
      dh = back.Take<T>(f.state_size());
      if (f.lstm) dc = back.Take<T>(f.state_size());
      if (!f.lstm) from_output = back.Take<T>(f.rows() * f.hidden);
      if (f.has_static) dfixed = back.Take<T>(f.streams * f.gates);
      sums_room = back.TakeBytes(sums_bytes);
    }
    saved_bytes = kept.bytes();
    scratch_bytes = std::max(forward.bytes(), back.bytes());
  }

  int64_t saved_bytes, scratch_bytes;  // of both blocks of memory
  // gates: the gates of all steps after their activation functions (in RNN, h). cells: c of all
  // steps.
  T *gates = nullptr, *cells = nullptr;
  // recurrent: the part of one step's gates that comes from h. fixed: the part that comes from the
  // static input.
  T *recurrent = nullptr, *fixed = nullptr;
  // dgates: the gradients of all steps' gates before their activation functions. dh, dc: the
  // gradients of one step's h and c. continued: the states that each step continues from
  // (ContinueStates).
  T *dgates = nullptr, *continued = nullptr, *dh = nullptr, *dc = nullptr;
  // from_output: the gradient of h that comes from the top (RNN). dfixed: the gradient of fixed.
  T *from_output = nullptr, *dfixed = nullptr;
  // Temporary memory of ColumnSums.
  void* sums_room = nullptr;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_RECURRENT_RECURRENT_ARRAYS_H_
