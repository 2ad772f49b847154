// Layer HDF5Data: a text file lists HDF5 files (names without spaces), and each top is the data set
// of its name in them; the first axis counts rows. Values of any number type and byte order become
// floats. Whole files are held in memory, the one in use and the next, which is read ahead by a
// thread.
//
// As in Caffe, shuffling draws a new order of the files each epoch and of the rows inside each
// file. Samples, seeds, ranks and Seek are as in Pipeline.
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

class Hdf5Rows {
 public:
  // Looks into every file: missing data sets and shapes that differ are found here. Throws
  // FileError.
  Hdf5Rows(const std::string& list, const std::vector<std::string>& tops,
           const Hdf5Options& options);
  ~Hdf5Rows();
  Hdf5Rows(const Hdf5Rows&) = delete;
  Hdf5Rows& operator=(const Hdf5Rows&) = delete;

  const Shape& row_shape(size_t top) const { return row_shapes_[top]; }  // without the axis of rows
  int64_t size() const { return size_; }                                 // rows in all files

  // Writes one batch of each top.
  void Next(const std::vector<float*>& tops);
  int64_t next_sample() const { return next_sample_; }
  // The sample that rank 0 goes on with: the same number on every rank.
  int64_t position() const { return next_sample_ - int64_t{options_.rank} * options_.batch; }
  void Seek(int64_t sample);  // to such a position
  void Shard(int rank, int world);

 private:
  struct File {
    std::string path;
    int64_t rows = 0;
  };
  // The values of one file; the place it takes in one epoch.
  struct Loaded {
    int64_t turn = -1;  // epoch * files + place in the epoch's order of files
    std::vector<std::vector<float>> tops;
  };
  struct Place {
    int64_t turn;  // of the file
    int64_t row;   // in the file
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
  int64_t epoch_ = -1;               // that epoch_ends_ is for
  std::vector<int64_t> epoch_ends_;  // position after the last row of each turn
  Loaded current_;
  std::future<Loaded> ahead_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_HDF5_H_
