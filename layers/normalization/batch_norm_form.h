// The form of BatchNorm, alone and in chains, which its kernels on every device read.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_FORM_H_
#define DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_FORM_H_

#include <cstddef>

namespace doppio {

// Indices of Scale's parameters in a fused BatchNorm and Scale, after BatchNorm's own three.
constexpr size_t kScaleParam = 3, kBiasParam = 4;

// The chains that start with BatchNorm: those of the layers that mostly follow it.
constexpr const char* kBatchNormChains[] = {"BatchNorm+Scale", "BatchNorm+ReLU",
                                            "BatchNorm+Scale+ReLU", "BatchNorm+Scale+Eltwise",
                                            "BatchNorm+Scale+Eltwise+ReLU"};

struct BatchNormForm {
  bool global = false;  // normalises by the running statistics instead of the batch's
  float fraction = 0;   // fraction of the running statistics that an update keeps
  float epsilon = 0;    // added to the variance
  // In a chain: true if a Scale follows, and if that Scale has a bias.
  bool has_scale = false, has_bias = false;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_FORM_H_
