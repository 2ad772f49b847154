// Initial values of parameters. Implements Caffe's fillers (constant, uniform, gaussian,
// positive_unitball, xavier, msra, bilinear) and Intel's gabor with counter-based random numbers,
// so that the values depend only on the seed and the parameter's name.
#ifndef DOPPIO_CORE_NET_GRAPH_FILLER_H_
#define DOPPIO_CORE_NET_GRAPH_FILLER_H_

#include <cstdint>

#include "core/tensor/tensor.h"
#include "proto/layers.pb.h"

namespace doppio {

// Fills a float or double tensor in plain layout. `out` holds the rows (along the first axis) from
// `first_row` on of a blob that has no last row, so a part of a blob gets the same random numbers
// as in the whole blob. Fans, and the share of values that `sparse` keeps, are computed from
// `shape`. Throws UserError without a source location (callers add it) if the filler type is
// unknown or does not fit the shape.
void Fill(const FillerParameter& filler, const Shape& shape, uint64_t seed, uint64_t stream,
          const Tensor& out, uint64_t first_row = 0);
// Performs the checks of Fill without computing values; used by `infer`.
void CheckFiller(const FillerParameter& filler, const Shape& shape);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_FILLER_H_
