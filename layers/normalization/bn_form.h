// What BN's kernels need of the file.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BN_FORM_H_
#define DOPPIO_LAYERS_NORMALIZATION_BN_FORM_H_

#include <any>

namespace doppio {

struct BnForm {
  bool keeps_running = true;  // has blobs 2 and 3
  bool global = false;        // normalises by the running statistics; else by the batch's
  bool normalizes = true;     // else only scales and shifts
  double momentum = 0;        // what is kept of the running statistics in an update

  // What computes BN: BatchNorm and Scale in a chain, or Scale alone.
  const char* inner_type() const { return normalizes ? "BatchNorm+Scale" : "Scale"; }
  std::any inner;  // its form
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BN_FORM_H_
