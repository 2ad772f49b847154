// Where the samples of a batch lie in a value: models reshape and transpose their batch, and the
// net must do the same with a batch of any size.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_SAMPLE_PLACE_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_SAMPLE_PLACE_H_

#include <cstdint>
#include <vector>

#include "core/tensor/shape.h"

namespace doppio {

// The samples lie along `axis`, whose extent is a multiple of count * minor: `minor` neighbouring
// elements of the axis belong to one sample. An axis of -1 means that no axis holds all samples.
struct SamplePlace {
  int axis = -1;
  int64_t count = 1, minor = 1;

  bool known() const { return axis >= 0; }
  // Returns true if each index of axis 0 is one sample.
  bool is_plain() const { return axis == 0 && minor == 1; }
};

// Returns the place in a value whose axis i is axis order[i] of the value with `place`.
SamplePlace PermutedPlace(SamplePlace place, const std::vector<int64_t>& order);
// Returns the place after a change of the shape from `from` to `to`, which has as many elements. If
// `place` has one sample and several axes fit, the choice is an axis of extent 1, then the rows of
// a matrix, then the axis of before.
SamplePlace ReshapedPlace(const SamplePlace& place, const Shape& from, const Shape& to);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_SAMPLE_PLACE_H_
