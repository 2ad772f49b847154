// Reads data sets from one HDF5 file. Hides the handles and error messages of the HDF5 library.
#ifndef DOPPIO_DATA_SOURCE_HDF5_FILE_H_
#define DOPPIO_DATA_SOURCE_HDF5_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/shape.h"

namespace doppio {

class Hdf5File {
 public:
  // Opens the file for reading. Throws FileError.
  explicit Hdf5File(const std::string& path);
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  // Both methods throw FileError if the data set does not exist or is not numeric. Read converts
  // the values to floats, in row-major order.
  Shape ShapeOf(const std::string& dataset) const;
  std::vector<float> Read(const std::string& dataset) const;

 private:
  std::string NamesInFile() const;

  const std::string path_;
  int64_t file_;  // hid_t
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_HDF5_FILE_H_
