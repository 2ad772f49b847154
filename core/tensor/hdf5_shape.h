// Reads the shape of an HDF5 data set. A file may state any shape, so the shape is checked before
// memory is allocated for it. Only for .cc files that include <hdf5.h>.
#ifndef DOPPIO_CORE_TENSOR_HDF5_SHAPE_H_
#define DOPPIO_CORE_TENSOR_HDF5_SHAPE_H_

#include <hdf5.h>

#include <string>

#include "core/tensor/shape.h"

namespace doppio {

// Up to this many elements, memory is allocated however little data the file contains.
constexpr int64_t kHdf5AlwaysAllocated = int64_t{1} << 24;

// Returns the path of the file that contains an object. An external link leads to another file than
// the one opened.
std::string Hdf5FileOf(hid_t object);
// Returns true if values of the data set may be stored in other files.
bool Hdf5IsExternal(hid_t dataset);

// Returns the shape of `dataset`. Throws FileError if it has more than kMaxElements elements, far
// more data than the file can contain even when compressed, or chunks that take long and that the
// file does not contain, or if it is virtual and may read itself, because the library would crash.
// Call it before the library reads values. `what` starts the message, e.g. "data set 'x' of
// 'y.h5'".
Shape Hdf5ShapeOf(hid_t dataset, const std::string& what);

}  // namespace doppio

#endif  // DOPPIO_CORE_TENSOR_HDF5_SHAPE_H_
