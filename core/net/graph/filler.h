// Initial values of parameters: Caffe's fillers (constant, uniform, gaussian, positive_unitball,
// xavier, msra, bilinear) from counter-based random numbers, so that they depend only on the seed
// and the parameter's name.
#ifndef DOPPIO_CORE_NET_GRAPH_FILLER_H_
#define DOPPIO_CORE_NET_GRAPH_FILLER_H_

#include <cstdint>

#include "core/tensor/tensor.h"
#include "proto/layers.pb.h"

namespace doppio {

// Fills a plain float or double tensor, whose rows (along the first axis) are those from
// `first_row` on of an endless blob: a part has the random numbers that the whole has there. (Fans,
// and the share that `sparse` leaves, are those of `shape`.) Throws UserError without a place
// (callers add it) for an unknown filler type or one that does not fit the shape.
void Fill(const FillerParameter& filler, const Shape& shape, uint64_t seed, uint64_t stream,
          const Tensor& out, uint64_t first_row = 0);
// The same checks without values; for `infer`.
void CheckFiller(const FillerParameter& filler, const Shape& shape);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_FILLER_H_
