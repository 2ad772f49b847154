// The kernel of RNN and LSTM for all devices. It computes for all steps at once what does not
// depend on the previous step: the products with x, the output of RNN and the gradients of all
// weights.
#ifndef DOPPIO_LAYERS_RECURRENT_RECURRENT_KERNEL_H_
#define DOPPIO_LAYERS_RECURRENT_RECURRENT_KERNEL_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "core/net/contract/carried_state.h"
#include "layers/common/room.h"
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
      : device_(args.device),
        math_(args.device),
        f_(args.Form<RecurrentForm>()),
        backward_(args.backward),
        size_(f_.state_size()),
        state_{Shape{1, f_.streams, f_.hidden}, args.dtype, Layout()} {
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
    if (f_.exposed) return;
    first_ = Buffer(device_, CarriedBytes());
    last_ = Buffer(device_, CarriedBytes());
  }

  void Forward(const Pass& pass) override {
    // A repeated pass starts from the same states as the first one.
    if (!f_.exposed && !pass.again) math_.Copy(first_.data(), last_.data(), CarriedBytes());
    if (f_.has_static) {
      math_.Product(false, true, f_.streams, f_.gates, f_.static_inputs, Bottom(2), Param(2), false,
                    fixed_);
    }
    math_.Product(false, true, f_.rows(), f_.gates, f_.inputs, Bottom(0), Param(0), false, gates_);
    for (int64_t t = 0; t < f_.steps; ++t) StepForward(t);
    for (int state = 0; state < f_.states; ++state) {
      T* to = f_.exposed ? Top(1 + static_cast<size_t>(state)) : Carried(last_, state);
      math_.Copy(to, States(state) + (f_.steps - 1) * size_, size_ * kBytes);
    }
    if (f_.lstm) return;
    math_.Product(false, true, f_.rows(), f_.hidden, f_.hidden, States(0), Param(OutputWeights()),
                  false, Top(0));
    math_.Run(
        f_.rows() * f_.hidden,
        TanhStep<T>{{f_.hidden, Param(OutputWeights() + 1), nullptr, nullptr, nullptr}, Top(0)});
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    if (!f_.lstm) OutputBackward(add);
    for (int64_t t = f_.steps; t-- > 0;) StepBackward(t);

    const T* x = Bottom(0);
    if (T* dw = ParamGrad(0))
      math_.Product(true, false, f_.gates, f_.inputs, f_.rows(), dgates_, x, add[0], dw);
    if (T* db = ParamGrad(1))
      math_.ColumnSums(f_.rows(), f_.gates, dgates_, add[1], db, sums_room_);
    if (T* dx = BottomGrad(0))
      math_.Product(false, false, f_.rows(), f_.inputs, f_.gates, dgates_, Param(0), false, dx);
    const size_t hidden = f_.hidden_weights();
    if (T* dw = ParamGrad(hidden)) {
      math_.Run(f_.rows() * f_.hidden,
                ContinueStates<T>{f_.hidden, size_, Cont(0), First(0), States(0), continued_});
      math_.Product(true, false, f_.gates, f_.hidden, f_.rows(), dgates_, continued_, add[hidden],
                    dw);
    }
    if (f_.has_static) StaticBackward(add[2]);
  }

  bool same_every_pass() const override { return true; }

  std::vector<PlainBlob> State() const override {
    std::vector<PlainBlob> blobs;
    for (int state = 0; !f_.exposed && state < f_.states; ++state) {
      blobs.push_back(ReadTensor(Tensor(state_, Carried(last_, state)), device_));
    }
    return blobs;
  }
  void SetState(const std::vector<PlainBlob>& state) override {
    for (size_t i = 0; i < state.size(); ++i) {
      WriteTensor(state[i].data, Tensor(state_, Carried(last_, static_cast<int>(i))), device_);
    }
  }

 private:
  static constexpr int64_t kBytes = sizeof(T);

  // Assigns the memory of all arrays and computes needs_; with null pointers it only computes
  // needs_.
  void Place(void* saved, void* scratch) {
    Room kept(saved), forward(scratch), back(scratch);
    Room* lasting = backward_ ? &kept : &forward;
    gates_ = lasting->Take<T>(f_.rows() * f_.gates);
    if (f_.lstm) cells_ = lasting->Take<T>(f_.rows() * f_.hidden);
    recurrent_ = forward.Take<T>(f_.streams * f_.gates);
    if (f_.has_static) fixed_ = forward.Take<T>(f_.streams * f_.gates);
    if (backward_) {
      dgates_ = back.Take<T>(f_.rows() * f_.gates);
      continued_ = back.Take<T>(f_.rows() * f_.hidden);
      dh_ = back.Take<T>(size_);
      if (f_.lstm) dc_ = back.Take<T>(size_);
      if (!f_.lstm) from_output_ = back.Take<T>(f_.rows() * f_.hidden);
      if (f_.has_static) dfixed_ = back.Take<T>(f_.streams * f_.gates);
      sums_room_ = back.TakeBytes(Math::ColumnSumsBytes(f_.rows(), f_.gates));
    }
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = std::max(forward.bytes(), back.bytes());
    needs_.kept_bytes = f_.exposed ? 0 : 2 * CarriedBytes();
  }

  // Computes step t. Needs the states of step t - 1.
  void StepForward(int64_t t) {
    T* gates = gates_ + t * f_.streams * f_.gates;
    math_.Product(false, true, f_.streams, f_.gates, f_.hidden, Before(0, t),
                  Param(f_.hidden_weights()), false, recurrent_);
    const StepInput<T> input{f_.gates, Param(1), f_.has_static ? fixed_ : nullptr, recurrent_,
                             Cont(t)};
    if (f_.lstm) {
      const int64_t at = t * size_;
      math_.Run(size_,
                LstmStep<T>{f_.hidden, input, Before(1, t), gates, cells_ + at, Top(0) + at});
    } else {
      math_.Run(size_, TanhStep<T>{input, gates});
    }
  }

  // Computes the gradients of step t. Needs the results of step t + 1. Writes the gradient of step
  // t - 1's h, before the product with cont, to dh_, and in LSTM the gradient of its c to dc_.
  // Writes the gradients of the initial states if they are needed.
  void StepBackward(int64_t t) {
    const bool last = t + 1 == f_.steps;
    const int64_t at = t * size_;
    const T* from_top = f_.lstm ? TopGrad(0) : from_output_;
    if (from_top != nullptr) from_top += at;
    const StateGradient<T> dh{from_top, last ? TopGrad(1) : dh_, last ? nullptr : Cont(t + 1)};
    T* dgates = dgates_ + t * f_.streams * f_.gates;
    const T* gates = gates_ + t * f_.streams * f_.gates;
    T* const dh_before = t > 0 ? nullptr : FirstGrad(0);
    T* const dc_before = t > 0 ? nullptr : FirstGrad(1);
    if (f_.lstm) {
      math_.Run(size_, LstmStepBackward<T>{f_.hidden, Cont(t), Before(1, t), gates, cells_ + at, dh,
                                           last ? TopGrad(2) : dc_, dgates,
                                           dc_before != nullptr ? dc_before : dc_});
    } else {
      math_.Run(size_, TanhStepBackward<T>{f_.hidden, gates, dh, dgates});
    }
    if (t == 0 && dh_before == nullptr) return;
    math_.Product(false, false, f_.streams, f_.hidden, f_.gates, dgates, Param(f_.hidden_weights()),
                  false, dh_);
    if (t == 0)
      math_.Run(size_, ContinueStates<T>{f_.hidden, size_, Cont(0), dh_, nullptr, dh_before});
  }

  // RNN only: computes the gradients of the output's parameters, and writes the gradient of h of
  // all steps that comes from the top to from_output_.
  void OutputBackward(const std::vector<bool>& add) {
    const size_t weights = OutputWeights();
    T* dout = dgates_;  // has the same size and is not in use before StepBackward
    math_.Run(f_.rows() * f_.hidden,
              TanhStepBackward<T>{f_.hidden, Top(0), {TopGrad(0), nullptr, nullptr}, dout});
    if (T* dw = ParamGrad(weights)) {
      math_.Product(true, false, f_.hidden, f_.hidden, f_.rows(), dout, States(0), add[weights],
                    dw);
    }
    if (T* db = ParamGrad(weights + 1)) {
      math_.ColumnSums(f_.rows(), f_.hidden, dout, add[weights + 1], db, sums_room_);
    }
    math_.Product(false, false, f_.rows(), f_.hidden, f_.hidden, dout, Param(weights), false,
                  from_output_);
  }

  // Computes the gradients of the static input and of its weights.
  void StaticBackward(bool add) {
    if (!t_.param_grads[2] && !t_.bottom_grads[2]) return;
    const int64_t size = f_.streams * f_.gates;
    math_.Run(size, SumOverSteps<T>{f_.steps, size, dgates_, dfixed_});
    if (T* dw = ParamGrad(2)) {
      math_.Product(true, false, f_.gates, f_.static_inputs, f_.streams, dfixed_, Bottom(2), add,
                    dw);
    }
    if (T* dx = BottomGrad(2)) {
      math_.Product(false, false, f_.streams, f_.static_inputs, f_.gates, dfixed_, Param(2), false,
                    dx);
    }
  }

  T* Bottom(size_t i) const { return BottomValues<T>(i); }
  T* Top(size_t i) const { return TopValues<T>(i); }
  T* Param(size_t i) const { return ParamValues<T>(i); }
  // The next three functions return null if the gradient is absent.
  T* ParamGrad(size_t i) const { return ParamGradient<T>(i); }
  T* BottomGrad(size_t i) const { return BottomGradient<T>(i); }
  T* TopGrad(size_t i) const { return i < t_.top_grads.size() ? TopGradient<T>(i) : nullptr; }
  // Returns the index of W_ho among the blobs (RNN).
  size_t OutputWeights() const { return f_.hidden_weights() + 1; }

  // Returns cont of step t.
  const T* Cont(int64_t t) const { return Bottom(1) + t * f_.streams; }
  // Return the values of a state (0: h, 1: c). States: after each step. First: before the first
  // step. Before: before step t.
  T* States(int state) const { return state == 1 ? cells_ : f_.lstm ? Top(0) : gates_; }
  const T* First(int state) const {
    return f_.exposed ? Bottom(f_.first_state + static_cast<size_t>(state))
                      : Carried(first_, state);
  }
  const T* Before(int state, int64_t t) const {
    return t == 0 ? First(state) : States(state) + (t - 1) * size_;
  }
  // Returns the gradient of an initial state, or null if it is absent.
  T* FirstGrad(int state) const {
    const bool has = f_.exposed && state < f_.states;
    return has ? BottomGrad(f_.first_state + static_cast<size_t>(state)) : nullptr;
  }
  // Returns a state in first_ or last_.
  T* Carried(const Buffer& states, int state) const {
    return static_cast<T*>(states.data()) + state * size_;
  }
  int64_t CarriedBytes() const { return f_.states * size_ * kBytes; }

  Device* const device_;
  const Math math_;
  const RecurrentForm f_;
  const bool backward_;
  const int64_t size_;
  const TensorSpec state_;
  // The states before and after this pass, if they are not exposed.
  Buffer first_, last_;
  // gates_: the gates of all steps after their activation functions (in RNN, h). cells_: c of all
  // steps.
  T *gates_ = nullptr, *cells_ = nullptr;
  // recurrent_: the part of one step's gates that comes from h. fixed_: the part that comes from
  // the static input.
  T *recurrent_ = nullptr, *fixed_ = nullptr;
  // dgates_: the gradients of all steps' gates before their activation functions. dh_, dc_: the
  // gradients of one step's h and c. continued_: the states that each step continues from
  // (ContinueStates).
  T *dgates_ = nullptr, *continued_ = nullptr, *dh_ = nullptr, *dc_ = nullptr;
  // from_output_: the gradient of h that comes from the top (RNN). dfixed_: the gradient of fixed_.
  T *from_output_ = nullptr, *dfixed_ = nullptr;
  // Temporary memory of ColumnSums.
  void* sums_room_ = nullptr;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_RECURRENT_RECURRENT_KERNEL_H_
