// Data of layer HDF5Data. A text file lists HDF5 files, whose names must not contain spaces. Each
// top is the data set of the same name in these files; its first axis counts rows. Values of any
// numeric type and byte order are converted to floats. Two whole files are held in memory: the
// current file and the next one, which a thread reads ahead.
//
// As in Caffe, shuffling draws a new order of the files in each epoch, and of the rows inside each
// file. Sample numbers, seeds, ranks and Seek work as in Pipeline.
#ifndef DOPPIO_DATA_SOURCE_HDF5_H_
#define DOPPIO_DATA_SOURCE_HDF5_H_

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/tensor/shape.h"

namespace doppio {

struct Hdf5Options {
  int batch = 1;
  bool shuffle = false;
  uint64_t seed = 0;
  uint64_t stream = 0;
  int rank = 0;
  int world = 1;
};

// Not thread-safe.
class Hdf5Rows {
 public:
  // Opens every file once to check for missing data sets and mismatched shapes. Throws FileError.
  Hdf5Rows(const std::string& list, const std::vector<std::string>& tops,
           const Hdf5Options& options);
  ~Hdf5Rows();
  Hdf5Rows(const Hdf5Rows&) = delete;
  Hdf5Rows& operator=(const Hdf5Rows&) = delete;

  // Returns the shape of one row, without the row axis.
  const Shape& row_shape(size_t top) const { return row_shapes_[top]; }
  // Returns the number of rows in all files.
  int64_t size() const { return size_; }

  // Writes the next batch of each top: batch x row_shape(top) values, row-major. Throws FileError
  // if a file cannot be read.
  void Next(const std::vector<float*>& tops);
  // Returns the global index of the first sample of the next batch.
  int64_t next_sample() const { return next_sample_; }
  // Returns the first sample of rank 0's next batch, the same number on every rank.
  int64_t position() const { return next_sample_ - int64_t{options_.rank} * options_.batch; }
  // Continues at `sample`, a value of position().
  void Seek(int64_t sample);
  // Changes the rank and the number of ranks. The position stays the same.
  void Shard(int rank, int world);

 private:
  struct File {
    std::string path;
    int64_t rows = 0;
  };
  // The values of one file, and its turn: the file's place in the sequence of all files read.
  struct Loaded {
    int64_t turn = -1;  // epoch * files + place in this epoch's file order; -1: none
    std::vector<std::vector<float>> tops;
  };
  struct Place {
    int64_t turn;  // turn of the file
    int64_t row;   // row in the file
  };

  int64_t FileOfTurn(int64_t turn) const;
  Place Find(int64_t sample);
  void Load(int64_t turn);
  Loaded ReadTurn(int64_t turn) const;

  const std::vector<std::string> tops_;
  Hdf5Options options_;
  const Random random_;
  std::vector<File> files_;
  std::vector<Shape> row_shapes_;
  int64_t size_ = 0;
  int64_t next_sample_;
  int64_t epoch_ = -1;               // epoch that epoch_ends_ describes
  std::vector<int64_t> epoch_ends_;  // position after the last row of each turn
  Loaded current_;
  std::future<Loaded> ahead_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_HDF5_H_
