#include "core/tensor/hdf5_values.h"

#include <algorithm>
#include <vector>

#include "core/tensor/hdf5_handle.h"

namespace doppio {

std::string Hdf5NotNumbers(hid_t dataset) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  switch (H5Tget_class(type.get())) {
    case H5T_INTEGER:
    case H5T_FLOAT:
    case H5T_ENUM:
      return "";
    case H5T_BITFIELD:
      return H5Tget_size(type.get()) == 1 ? "" : "bit fields of more than 8 bits";
    case H5T_STRING:
      return "strings";
    case H5T_COMPOUND:
      return "compounds (complex numbers or structs)";
    default:
      return "values of another kind";
  }
}

bool ReadHdf5Floats(hid_t dataset, int64_t count, float* values) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  if (H5Tget_class(type.get()) != H5T_BITFIELD)
    return H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
  // The library does not convert bit fields.
  std::vector<uint8_t> bits(static_cast<size_t>(count));
  if (H5Dread(dataset, H5T_NATIVE_B8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bits.data()) < 0) return false;
  std::copy(bits.begin(), bits.end(), values);
  return true;
}

}  // namespace doppio
