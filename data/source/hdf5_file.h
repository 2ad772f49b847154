// Reading data sets of one HDF5 file, with the library's handles and error texts kept inside.
#ifndef DOPPIO_DATA_SOURCE_HDF5_FILE_H_
#define DOPPIO_DATA_SOURCE_HDF5_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/shape.h"

namespace doppio {

class Hdf5File {
 public:
  explicit Hdf5File(const std::string& path);  // opens it for reading; throws FileError
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  // Throw FileError when there is no data set of that name, or not one of numbers.
  Shape ShapeOf(const std::string& dataset) const;
  std::vector<float> Read(const std::string& dataset) const;

 private:
  std::string NamesInFile() const;

  const std::string path_;
  int64_t file_;  // hid_t
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_HDF5_FILE_H_
