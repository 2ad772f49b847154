// Reads the values of an HDF5 data set as floats. Only for .cc files that include <hdf5.h>.
#ifndef DOPPIO_CORE_TENSOR_HDF5_VALUES_H_
#define DOPPIO_CORE_TENSOR_HDF5_VALUES_H_

#include <hdf5.h>

#include <cstdint>
#include <string>

namespace doppio {

// Returns "" if `dataset` holds numbers: integers and floats of any size and byte order,
// enumerations, which include the booleans of NumPy, or bit fields of 8 bits, the booleans of
// PyTables. Otherwise says what it holds: "strings".
std::string Hdf5NotNumbers(hid_t dataset);

// Reads the `count` values of `dataset`, which holds numbers, in row-major order. Returns false if
// the file is damaged or a filter is missing.
bool ReadHdf5Floats(hid_t dataset, int64_t count, float* values);

}  // namespace doppio

#endif  // DOPPIO_CORE_TENSOR_HDF5_VALUES_H_
