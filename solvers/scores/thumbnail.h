// Makes small pictures of the images that a net gets.
#ifndef DOPPIO_SOLVERS_SCORES_THUMBNAIL_H_
#define DOPPIO_SOLVERS_SCORES_THUMBNAIL_H_

#include <optional>

#include "core/tensor/shape.h"
#include "proto/preprocessing.pb.h"
#include "solvers/scores/predictions.h"

namespace doppio {

// Returns the picture of one image of a batch of `shape`, N x C x H x W with 1 or 3 channels, whose
// planes are at `values`. Undoes the mean and the scale of `preprocessing`; if these are unknown,
// the smallest value becomes black and the largest one white.
Thumbnail MakeThumbnail(const float* values, const Shape& shape,
                        const std::optional<Preprocessing>& preprocessing);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_SCORES_THUMBNAIL_H_
