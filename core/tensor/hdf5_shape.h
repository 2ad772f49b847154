// The shape of an HDF5 data set. It is what the file states, so it is checked before anybody
// allocates memory for it. Only for .cc files that include <hdf5.h>.
#ifndef DOPPIO_CORE_TENSOR_HDF5_SHAPE_H_
#define DOPPIO_CORE_TENSOR_HDF5_SHAPE_H_

#include <hdf5.h>

#include <string>

#include "core/tensor/shape.h"

namespace doppio {

constexpr int64_t kHdf5AlwaysAllocated = int64_t{1} << 24;  // elements, whatever the file holds of them

// Returns true for data sets whose values may lie in other files.
bool Hdf5LiesElsewhere(hid_t dataset);

// `what` begins the message: "data set 'x' of 'y.h5'". Throws FileError if the elements are more
// than kMostElements, or far more than what the file holds of them can stand for.
Shape Hdf5ShapeOf(hid_t dataset, const std::string& what);

}  // namespace doppio

#endif  // DOPPIO_CORE_TENSOR_HDF5_SHAPE_H_
