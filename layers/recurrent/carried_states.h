// The states that a recurrent layer carries from one pass to the next, unless they are exposed.
#ifndef DOPPIO_LAYERS_RECURRENT_CARRIED_STATES_H_
#define DOPPIO_LAYERS_RECURRENT_CARRIED_STATES_H_

#include <cstdint>
#include <vector>

#include "core/device/device.h"
#include "core/net/contract/plain_blob.h"
#include "core/tensor/tensor.h"
#include "layers/recurrent/recurrent_form.h"

namespace doppio {

// Keeps the states before and after the current pass, so that the pass can be repeated. With
// expose_hidden there are none.
template <class T>
class CarriedStates {
 public:
  // `device` must outlive the states.
  CarriedStates(Device* device, const RecurrentForm& form, DType dtype)
      : device_(device),
        count_(form.exposed ? 0 : form.states),
        one_{Shape{1, form.streams, form.hidden}, dtype, Layout()} {}

  // Returns the bytes of all states at one time. They follow each other in memory.
  int64_t bytes() const { return count_ * one_.bytes(); }
  // Must be called before the functions below. The states are zero.
  void Allocate() {
    before_ = Buffer(device_, bytes());
    after_ = Buffer(device_, bytes());
  }
  // Return a state (0: h, 1: c) before the first step and after the last step.
  T* Before(int state) const { return At(before_, state); }
  T* After(int state) const { return At(after_, state); }

  // Return and set the states after the last step, from which the next pass starts.
  std::vector<PlainBlob> Read() const {
    std::vector<PlainBlob> blobs;
    for (int state = 0; state < count_; ++state)
      blobs.push_back(ReadTensor(Tensor(one_, After(state)), device_));
    return blobs;
  }
  void Write(const std::vector<PlainBlob>& blobs) {
    for (size_t i = 0; i < blobs.size(); ++i)
      WriteTensor(blobs[i].data, Tensor(one_, After(static_cast<int>(i))), device_);
  }

 private:
  T* At(const Buffer& states, int state) const {
    return static_cast<T*>(states.data()) + state * one_.shape.count();
  }

  Device* const device_;
  const int count_;
  const TensorSpec one_;
  Buffer before_, after_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_RECURRENT_CARRIED_STATES_H_
