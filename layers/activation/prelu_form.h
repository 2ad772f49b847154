// The form of PReLU, which its kernels on every device read.
#ifndef DOPPIO_LAYERS_ACTIVATION_PRELU_FORM_H_
#define DOPPIO_LAYERS_ACTIVATION_PRELU_FORM_H_

namespace doppio {

struct PreluForm {
  // End of the axes [1, channel_end) that have their own slopes: 2 for one slope per channel, 1 if
  // all channels share one slope.
  int channel_end = 2;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_PRELU_FORM_H_
