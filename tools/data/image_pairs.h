// Pairs of images for siamese nets, as Caffe's convert_mnist_siamese_data draws them.
#ifndef DOPPIO_TOOLS_DATA_IMAGE_PAIRS_H_
#define DOPPIO_TOOLS_DATA_IMAGE_PAIRS_H_

#include <cstdint>
#include <memory>

#include "data/record/source.h"

namespace doppio {

// Returns a source of as many pairs as `images` has records, which are planes of bytes of one size.
// Both images of a pair are drawn by `seed`. The channels of a pair are those of its first image,
// then those of its second one; its label is 1 if both images have the same label, else 0.
// `images` must outlive the result.
std::unique_ptr<Source> DrawPairs(const Source& images, uint64_t seed);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IMAGE_PAIRS_H_
