// What PReLU's kernels need of the file.
#ifndef DOPPIO_LAYERS_ACTIVATION_PRELU_FORM_H_
#define DOPPIO_LAYERS_ACTIVATION_PRELU_FORM_H_

namespace doppio {

struct PreluForm {
  // Axes [1, channel_end) have a slope for each index: the channels, or none of the axes where all
  // channels share one slope.
  int channel_end = 2;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_PRELU_FORM_H_
