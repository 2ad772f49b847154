// The kernel of LSTMUnit for all devices: one step of LSTM (recurrent_ops.h) on gates that other
// layers compute. Math is described in recurrent_kernel.h; this kernel uses its Run and Copy.
#ifndef DOPPIO_LAYERS_RECURRENT_LSTM_UNIT_KERNEL_H_
#define DOPPIO_LAYERS_RECURRENT_LSTM_UNIT_KERNEL_H_

#include "core/net/contract/kernel.h"
#include "layers/recurrent/recurrent_ops.h"

namespace doppio {

// Bottoms: the cells of the previous step (1, streams, hidden), the gates before their activation
// functions (1, streams, 4 * hidden), and cont (1, streams). Tops: the new cells and the new hidden
// state, both (1, streams, hidden).
template <class T, class Math>
class LstmUnitKernel : public Kernel {
 public:
  explicit LstmUnitKernel(const KernelArgs& args)
      : math_(args.device),
        size_(args.bottoms[0].shape.count()),
        hidden_(args.bottoms[0].shape[2]),
        backward_(args.backward) {
    (backward_ ? needs_.saved_bytes : needs_.scratch_bytes) = GateBytes();
    if (backward_) needs_.scratch_bytes = GateBytes() + GateBytes() / 4;
  }

  void Forward(const Pass&) override {
    math_.Copy(Gates(), t_.bottoms[1].raw, GateBytes());
    math_.Run(size_, LstmStep<T>{hidden_,
                                 {4 * hidden_, nullptr, nullptr, nullptr, Cont()},
                                 BottomValues<T>(0),
                                 Gates(),
                                 TopValues<T>(0),
                                 TopValues<T>(1)});
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    // A gradient that is not needed is written to scratch memory.
    T* unwanted = static_cast<T*>(t_.scratch);
    T* dgates = Data(t_.bottom_grads[1]);
    T* dbefore = Data(t_.bottom_grads[0]);
    if (dgates == nullptr && dbefore == nullptr) return;
    math_.Run(size_, LstmStepBackward<T>{hidden_,
                                         Cont(),
                                         BottomValues<T>(0),
                                         Gates(),
                                         TopValues<T>(0),
                                         {Data(t_.top_grads[1]), nullptr, nullptr},
                                         Data(t_.top_grads[0]),
                                         dgates == nullptr ? unwanted : dgates,
                                         dbefore == nullptr ? unwanted + 4 * size_ : dbefore});
  }

  bool same_every_pass() const override { return true; }

 private:
  int64_t GateBytes() const { return 4 * size_ * kBytesOf<T>; }
  // Returns the gates after their activation functions.
  T* Gates() const { return static_cast<T*>(backward_ ? t_.saved : t_.scratch); }
  const T* Cont() const { return BottomValues<T>(2); }
  // Returns the data of the tensor, or null if it is absent.
  static T* Data(const Tensor& tensor) { return tensor ? tensor.data<T>() : nullptr; }

  const Math math_;
  const int64_t size_, hidden_;  // size_: streams * hidden
  const bool backward_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_RECURRENT_LSTM_UNIT_KERNEL_H_
