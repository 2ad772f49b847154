// Data of layer HDF5Data. A text file lists HDF5 files (data/record/path_lines.h). Each top is the
// data set of the same name in these files; its first axis counts rows. Values of any numeric type
// and byte order, and booleans, are converted to floats. Two whole files are held in memory: the
// current file and the next one, which a thread reads ahead.
//
// As in Caffe, shuffling draws a new order of the files in each epoch, and of the rows inside each
// file. In a group with other files, what such a file is to others is the smallest run of files
// that all of the group can hold together (GroupRule::blocks). Sample numbers, seeds, ranks and
// Seek work as in Pipeline.
#ifndef DOPPIO_DATA_SOURCE_HDF5_H_
#define DOPPIO_DATA_SOURCE_HDF5_H_

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/base/sample_set.h"
#include "core/tensor/shape.h"
#include "data/pipeline/order.h"

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
  // Opens every file once to check for missing data sets and mismatched shapes: with a batch of 1,
  // the rows of a file may have other shapes than those of the next. Throws FileError.
  Hdf5Rows(const std::string& list, const std::vector<std::string>& tops,
           const Hdf5Options& options);
  ~Hdf5Rows();
  Hdf5Rows(const Hdf5Rows&) = delete;
  Hdf5Rows& operator=(const Hdf5Rows&) = delete;

  // Returns the shape of one row of the first file, without the row axis.
  const Shape& row_shape(size_t top) const { return files_[0].shapes[top]; }
  // Returns the same for the batch that Next returned last, if it has.
  const Shape& shape(size_t top) const { return batch_[top].shape; }
  // Returns true if not all files have rows of one shape.
  bool shapes_vary() const;
  // Returns the number of rows in all files.
  int64_t size() const { return size_; }

  // Describes the rows.
  SampleSet samples() const;
  // Makes the source follow the rule of its group, with the same position. Later calls have no
  // effect.
  void Join(const GroupRule& rule);

  // One top of a batch: `batch` rows of this shape, row-major.
  struct Rows {
    Shape shape;
    std::vector<float> values;
  };
  // Returns the next batch: the rows of each top. It is valid until the next call. Throws FileError
  // if a file cannot be read.
  const std::vector<Rows>& Next();
  // Returns the batch that Next returned last.
  const std::vector<Rows>& current() const { return batch_; }
  // Returns the name of a sample, with its row counted from 0: "row 4 of 'a.h5'".
  std::string NameOf(int64_t sample) const;
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
    int64_t begin = 0, rows = 0;  // rows of the source
    std::vector<Shape> shapes;    // per top: of a row
  };
  // The files that are in memory together: usually one.
  struct Part {
    int64_t begin = 0, end = 0;  // rows of the source
    std::vector<size_t> files;
  };
  // The values of a part.
  struct Loaded {
    int64_t part = -1;                                        // -1: none
    std::map<size_t, std::vector<std::vector<float>>> files;  // per file: its tops
  };

  void CheckRows(const File& file, size_t top) const;
  void Follow(GroupRule rule);
  int64_t PartOf(int64_t row) const;
  size_t FileOf(int64_t row) const;
  const Loaded& Load(int64_t sample, int64_t row);
  Loaded ReadPart(int64_t part) const;
  int64_t RowOf(int64_t sample) const;

  const std::vector<std::string> tops_;
  Hdf5Options options_;
  std::vector<File> files_;
  int64_t size_ = 0;
  int64_t next_sample_;
  std::optional<SampleOrder> order_;
  std::function<int64_t(int64_t)> usable_;  // GroupRule::usable
  std::vector<Part> parts_;
  std::vector<Rows> batch_;
  bool joined_ = false;
  // `current_` is the part whose turn it is, `other_` one with a row that replaces a bad record.
  Loaded current_, other_;
  std::future<Loaded> ahead_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_HDF5_H_
