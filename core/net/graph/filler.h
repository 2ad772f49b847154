// Initial values of parameters. Implements Caffe's fillers (constant, uniform, gaussian,
// positive_unitball, xavier, msra, bilinear), Intel's gabor, truncated_normal and dirac with
// counter-based random numbers, so that the values depend only on the seed and the parameter's
// name.
#ifndef DOPPIO_CORE_NET_GRAPH_FILLER_H_
#define DOPPIO_CORE_NET_GRAPH_FILLER_H_

#include <cstdint>

#include "core/tensor/tensor.h"
#include "proto/layers.pb.h"

namespace doppio {

// Fills a float or double tensor of shape `shape` in plain layout. It is one of `parts` parts,
// along the first axis, of a blob, and gets the same values as in the whole blob: fans, and the
// share of values that `sparse` keeps, are those of the whole blob. `first_row` is the index of the
// tensor's first row, among the rows of this blob or of all blobs of the stream. Throws UserError
// without a source location (callers add it) if the filler type is unknown or does not fit the
// shape.
void Fill(const FillerParameter& filler, const Shape& shape, uint64_t seed, uint64_t stream,
          const Tensor& out, uint64_t first_row = 0, int parts = 1);
// Performs the checks of Fill without computing values; used by `infer`.
void CheckFiller(const FillerParameter& filler, const Shape& shape, int parts = 1);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_FILLER_H_
