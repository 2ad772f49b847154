// The kernel of RNN and LSTM for all devices. It computes for all steps at once what does not
// depend on the previous step: the products with x, the output of RNN and the gradients of all
// weights.
#ifndef DOPPIO_LAYERS_RECURRENT_RECURRENT_KERNEL_H_
#define DOPPIO_LAYERS_RECURRENT_RECURRENT_KERNEL_H_

#include <utility>
#include <vector>

#include "core/net/contract/carried_state.h"
#include "layers/recurrent/carried_states.h"
#include "layers/recurrent/recurrent_arrays.h"
#include "layers/recurrent/recurrent_form.h"
#include "layers/recurrent/recurrent_ops.h"

namespace doppio {

// `Math` is constructed from a Device* and has these members:
//   Run(n, body): calls body(i) for i in [0, n).
//   Product(ta, tb, m, n, k, a, b, add, c): computes op(a) (m x k) * op(b) (k x n), where op
//       transposes if ta or tb is true, and writes it to c (m x n), or adds it with `add`.
//   ColumnSums(rows, columns, x, add, to, room): writes the sums of the columns of x to `to`, or
//       adds them with `add`. `room` is scratch memory of ColumnSumsBytes(rows, columns) bytes.
//   Copy(to, from, bytes): copies within the device.
template <class T, class Math>
class RecurrentKernel : public Kernel, public CarriesState {
 public:
  explicit RecurrentKernel(const KernelArgs& args)
      : math_(args.device),
        f_(args.Form<RecurrentForm>()),
        backward_(args.backward),
        size_(f_.state_size()),
        carried_(args.device, f_, args.dtype),
        a_(ArraysIn(nullptr, nullptr)) {
    needs_.saved_bytes = a_.saved_bytes;
    needs_.scratch_bytes = a_.scratch_bytes;
    needs_.kept_bytes = 2 * carried_.bytes();
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    a_ = ArraysIn(t_.saved, t_.scratch);
    carried_.Allocate();
  }

  void Forward(const Pass& pass) override {
    // A repeated pass starts from the same states as the first one.
    if (!f_.exposed && !pass.again)
      math_.Copy(carried_.Before(0), carried_.After(0), carried_.bytes());
    if (f_.has_static) {
      math_.Product(false, true, f_.streams, f_.gates, f_.static_inputs, BottomValues<T>(2),
                    ParamValues<T>(2), false, a_.fixed);
    }
    math_.Product(false, true, f_.rows(), f_.gates, f_.inputs, BottomValues<T>(0),
                  ParamValues<T>(0), false, a_.gates);
    for (int64_t t = 0; t < f_.steps; ++t) StepForward(t);
    for (int state = 0; state < f_.states; ++state) {
      T* to = f_.exposed ? TopValues<T>(1 + static_cast<size_t>(state)) : carried_.After(state);
      math_.Copy(to, States(state) + (f_.steps - 1) * size_, size_ * kBytesOf<T>);
    }
    if (f_.lstm) return;
    math_.Product(false, true, f_.rows(), f_.hidden, f_.hidden, States(0),
                  ParamValues<T>(f_.output_weights()), false, TopValues<T>(0));
    math_.Run(
        f_.rows() * f_.hidden,
        TanhStep<T>{{f_.hidden, ParamValues<T>(f_.output_weights() + 1), nullptr, nullptr, nullptr},
                    TopValues<T>(0)});
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    if (!f_.lstm) OutputBackward(add);
    for (int64_t t = f_.steps; t-- > 0;) StepBackward(t);

    const T* x = BottomValues<T>(0);
    if (T* dw = ParamGradient<T>(0))
      math_.Product(true, false, f_.gates, f_.inputs, f_.rows(), a_.dgates, x, add[0], dw);
    if (T* db = ParamGradient<T>(1))
      math_.ColumnSums(f_.rows(), f_.gates, a_.dgates, add[1], db, a_.sums_room);
    if (T* dx = BottomGradient<T>(0))
      math_.Product(false, false, f_.rows(), f_.inputs, f_.gates, a_.dgates, ParamValues<T>(0),
                    false, dx);
    const size_t hidden = f_.hidden_weights();
    if (T* dw = ParamGradient<T>(hidden)) {
      math_.Run(f_.rows() * f_.hidden,
                ContinueStates<T>{f_.hidden, size_, Cont(0), First(0), States(0), a_.continued});
      math_.Product(true, false, f_.gates, f_.hidden, f_.rows(), a_.dgates, a_.continued,
                    add[hidden], dw);
    }
    if (f_.has_static) StaticBackward(add[2]);
  }

  bool same_every_pass() const override { return true; }

  std::vector<PlainBlob> State() const override { return carried_.Read(); }
  void SetState(const std::vector<PlainBlob>& state) override { carried_.Write(state); }

 private:
  RecurrentArrays<T> ArraysIn(void* saved, void* scratch) const {
    return {f_, backward_, Math::ColumnSumsBytes(f_.rows(), f_.gates), saved, scratch};
  }

  // Computes step t. Needs the states of step t - 1.
  void StepForward(int64_t t) {
    T* gates = a_.gates + t * f_.streams * f_.gates;
    math_.Product(false, true, f_.streams, f_.gates, f_.hidden, Before(0, t),
                  ParamValues<T>(f_.hidden_weights()), false, a_.recurrent);
    const StepInput<T> input{f_.gates, ParamValues<T>(1), f_.has_static ? a_.fixed : nullptr,
                             a_.recurrent, Cont(t)};
    if (f_.lstm) {
      const int64_t at = t * size_;
      math_.Run(size_, LstmStep<T>{f_.hidden, input, Before(1, t), gates, a_.cells + at,
                                   TopValues<T>(0) + at});
    } else {
      math_.Run(size_, TanhStep<T>{input, gates});
    }
  }

  // Computes the gradients of step t. Needs the results of step t + 1. Writes the gradient of step
  // t - 1's h, before the product with cont, to a_.dh, and in LSTM the gradient of its c to a_.dc.
  // Writes the gradients of the initial states if they are needed.
  void StepBackward(int64_t t) {
    const bool last = t + 1 == f_.steps;
    const int64_t at = t * size_;
    const T* from_top = f_.lstm ? TopGrad(0) : a_.from_output;
    if (from_top != nullptr) from_top += at;
    const StateGradient<T> dh{from_top, last ? TopGrad(1) : a_.dh, last ? nullptr : Cont(t + 1)};
    T* dgates = a_.dgates + t * f_.streams * f_.gates;
    const T* gates = a_.gates + t * f_.streams * f_.gates;
    T* const dh_before = t > 0 ? nullptr : FirstGrad(0);
    T* const dc_before = t > 0 ? nullptr : FirstGrad(1);
    if (f_.lstm) {
      math_.Run(size_, LstmStepBackward<T>{f_.hidden, Cont(t), Before(1, t), gates, a_.cells + at,
                                           dh, last ? TopGrad(2) : a_.dc, dgates,
                                           dc_before != nullptr ? dc_before : a_.dc});
    } else {
      math_.Run(size_, TanhStepBackward<T>{f_.hidden, gates, dh, dgates});
    }
    if (t == 0 && dh_before == nullptr) return;
    math_.Product(false, false, f_.streams, f_.hidden, f_.gates, dgates,
                  ParamValues<T>(f_.hidden_weights()), false, a_.dh);
    if (t == 0)
      math_.Run(size_, ContinueStates<T>{f_.hidden, size_, Cont(0), a_.dh, nullptr, dh_before});
  }

  // RNN only: computes the gradients of the output's parameters, and writes the gradient of h of
  // all steps that comes from the top to a_.from_output.
  void OutputBackward(const std::vector<bool>& add) {
    const size_t weights = f_.output_weights();
    T* dout = a_.dgates;  // has the same size and is not in use before StepBackward
    math_.Run(
        f_.rows() * f_.hidden,
        TanhStepBackward<T>{f_.hidden, TopValues<T>(0), {TopGrad(0), nullptr, nullptr}, dout});
    if (T* dw = ParamGradient<T>(weights)) {
      math_.Product(true, false, f_.hidden, f_.hidden, f_.rows(), dout, States(0), add[weights],
                    dw);
    }
    if (T* db = ParamGradient<T>(weights + 1))
      math_.ColumnSums(f_.rows(), f_.hidden, dout, add[weights + 1], db, a_.sums_room);
    math_.Product(false, false, f_.rows(), f_.hidden, f_.hidden, dout, ParamValues<T>(weights),
                  false, a_.from_output);
  }

  // Computes the gradients of the static input and of its weights.
  void StaticBackward(bool add) {
    if (!t_.param_grads[2] && !t_.bottom_grads[2]) return;
    const int64_t size = f_.streams * f_.gates;
    math_.Run(size, SumOverSteps<T>{f_.steps, size, a_.dgates, a_.dfixed});
    if (T* dw = ParamGradient<T>(2)) {
      math_.Product(true, false, f_.gates, f_.static_inputs, f_.streams, a_.dfixed,
                    BottomValues<T>(2), add, dw);
    }
    if (T* dx = BottomGradient<T>(2)) {
      math_.Product(false, false, f_.streams, f_.static_inputs, f_.gates, a_.dfixed,
                    ParamValues<T>(2), false, dx);
    }
  }

  // Returns the gradient of top i, or null if it is absent.
  T* TopGrad(size_t i) const { return i < t_.top_grads.size() ? TopGradient<T>(i) : nullptr; }
  // Returns cont of step t.
  const T* Cont(int64_t t) const { return BottomValues<T>(1) + t * f_.streams; }
  // Return the values of a state (0: h, 1: c). States: after each step. First: before the first
  // step. Before: before step t.
  T* States(int state) const {
    return state == 1 ? a_.cells : f_.lstm ? TopValues<T>(0) : a_.gates;
  }
  const T* First(int state) const {
    return f_.exposed ? BottomValues<T>(f_.first_state + static_cast<size_t>(state))
                      : carried_.Before(state);
  }
  const T* Before(int state, int64_t t) const {
    return t == 0 ? First(state) : States(state) + (t - 1) * size_;
  }
  // Returns the gradient of an initial state, or null if it is absent.
  T* FirstGrad(int state) const {
    const bool has = f_.exposed && state < f_.states;
    return has ? BottomGradient<T>(f_.first_state + static_cast<size_t>(state)) : nullptr;
  }

  const Math math_;
  const RecurrentForm f_;
  const bool backward_;
  const int64_t size_;  // elements of a state
  CarriedStates<T> carried_;
  RecurrentArrays<T> a_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_RECURRENT_RECURRENT_KERNEL_H_
