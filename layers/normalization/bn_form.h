// The form of BN, which its kernels on every device read.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BN_FORM_H_
#define DOPPIO_LAYERS_NORMALIZATION_BN_FORM_H_

#include <any>

namespace doppio {

struct BnForm {
  bool keeps_running = true;  // the layer has blobs 2 and 3, the running statistics
  bool global = false;        // normalises by the running statistics instead of the batch's
  bool normalizes = true;     // if false, only scales and shifts
  double momentum = 0;        // fraction of the running statistics that an update keeps

  // Returns the type whose kernel computes BN: the chain of BatchNorm and Scale, or Scale alone.
  const char* inner_type() const { return normalizes ? "BatchNorm+Scale" : "Scale"; }
  std::any inner;  // the form of inner_type()
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BN_FORM_H_
