// What the kernels of BatchNorm, alone and in chains, need of the file.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_FORM_H_
#define DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_FORM_H_

#include <cstddef>

namespace doppio {

// Indices of Scale's parameters in a fused BatchNorm and Scale, after BatchNorm's own three.
constexpr size_t kScaleParam = 3, kBiasParam = 4;

// BatchNorm together with the layers that mostly follow it.
constexpr const char* kBatchNormChains[] = {"BatchNorm+Scale", "BatchNorm+ReLU",
                                            "BatchNorm+Scale+ReLU", "BatchNorm+Scale+Eltwise",
                                            "BatchNorm+Scale+Eltwise+ReLU"};

struct BatchNormForm {
  bool global = false;  // normalises by the running statistics; else by the batch's
  float fraction = 0;   // what is kept of the running statistics in an update
  float epsilon = 0;    // added to the variance
  // Of a chain: whether a Scale follows, and whether the Scale has a bias.
  bool has_scale = false, has_bias = false;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_FORM_H_
