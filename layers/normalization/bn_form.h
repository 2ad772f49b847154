// What BN's kernels need of the file.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BN_FORM_H_
#define DOPPIO_LAYERS_NORMALIZATION_BN_FORM_H_

#include <any>
#include <memory>

namespace doppio {

struct LayerSpec;

struct BnForm {
  bool keeps_running = true;  // has blobs 2 and 3
  bool global = false;        // normalises by the running statistics; else by the batch's
  bool normalizes = true;     // else only scales and shifts
  double momentum = 0;        // what is kept of the running statistics in an update

  // What computes BN: BatchNorm and Scale in a chain, or Scale alone.
  const char* inner_type() const { return normalizes ? "BatchNorm+Scale" : "Scale"; }
  std::any inner;  // its form
  // Of Scale alone, whose kernels read the file. To be removed once they have a form.
  std::shared_ptr<const LayerSpec> inner_spec;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BN_FORM_H_
