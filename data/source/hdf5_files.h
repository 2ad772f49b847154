// The HDF5 files of a list as one sequence of rows. Each file has the same data sets, whose first
// axis counts rows.
#ifndef DOPPIO_DATA_SOURCE_HDF5_FILES_H_
#define DOPPIO_DATA_SOURCE_HDF5_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/shape.h"

namespace doppio {

// Several threads may use it at once.
class Hdf5Files {
 public:
  struct File {
    std::string path;
    int64_t begin = 0, rows = 0;  // of the sequence
    std::vector<Shape> shapes;    // per data set: of a row
  };
  using Values = std::vector<std::vector<float>>;  // per data set of a file: its rows

  // Opens every file once to check for missing data sets and mismatched shapes. The rows of a file
  // may have another shape than those of the next only if `shapes_may_vary`. Throws FileError.
  Hdf5Files(const std::string& list, const std::vector<std::string>& sets, bool shapes_may_vary);

  // Returns the files in the order of the list, at least one.
  const std::vector<File>& all() const { return files_; }
  // Returns the number of rows in all files, at least one.
  int64_t rows() const { return files_.back().begin + files_.back().rows; }
  // Returns true if not all files have rows of one shape.
  bool shapes_vary() const;
  // Returns the file that has row `row` of the sequence.
  const File& FileOf(int64_t row) const;
  // Reads one of the files. Throws FileError.
  Values Read(const File& file) const;

 private:
  void Add(const std::string& path, bool shapes_may_vary);

  const std::vector<std::string> sets_;
  std::vector<File> files_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_HDF5_FILES_H_
