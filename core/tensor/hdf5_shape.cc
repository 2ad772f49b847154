#include "core/tensor/hdf5_shape.h"

#include <vector>

#include "core/base/checked_product.h"
#include "core/base/error.h"
#include "core/tensor/hdf5_handle.h"

namespace doppio {
namespace {

double BytesOfElement(hid_t dataset) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  return static_cast<double>(H5Tget_size(type.get()));
}

}  // namespace

bool Hdf5IsExternal(hid_t dataset) {
  const Hdf5Handle made(H5Dget_create_plist(dataset), H5Pclose);
  return H5Pget_layout(made.get()) == H5D_VIRTUAL || H5Pget_external_count(made.get()) > 0;
}

Shape Hdf5ShapeOf(hid_t dataset, const std::string& what) {
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::vector<hsize_t> dims(rank < 0 ? 0 : rank);
  H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  const auto elements = CheckedProduct(dims);
  if (!elements) {
    throw FileError(what + " has more than the limit of " + std::to_string(kMaxElements) +
                    " elements");
  }
  const hsize_t stored = H5Dget_storage_size(dataset);
  const double wanted = static_cast<double>(*elements) * BytesOfElement(dataset);
  if (*elements > kHdf5AlwaysAllocated && wanted > kMaxDeflated * static_cast<double>(stored) &&
      !Hdf5IsExternal(dataset)) {
    throw FileError(what + " states " + std::to_string(*elements) +
                    " elements, but the file holds only " + std::to_string(stored) +
                    " bytes of them");
  }
  return Shape(std::vector<int64_t>(dims.begin(), dims.end()));
}

}  // namespace doppio
