// Data of layer HDF5Data. A text file lists HDF5 files (data/record/path_lines.h). Each top is the
// data set of the same name in these files; its first axis counts rows. Values of any numeric type
// and byte order, and booleans, are converted to floats. Two whole files are held in memory: the
// current file and the next one, which a thread reads ahead (Hdf5Reader).
//
// As in Caffe, shuffling draws a new order of the files in each epoch, and of the rows inside each
// file. In a group with other files, what such a file is to others is the smallest run of files
// that all of the group can hold together (GroupRule::blocks). Sample numbers, seeds, ranks and
// Seek work as in Pipeline.
#ifndef DOPPIO_DATA_SOURCE_HDF5_H_
#define DOPPIO_DATA_SOURCE_HDF5_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/sample_set.h"
#include "core/tensor/shape.h"
#include "data/pipeline/shard_cursor.h"
#include "data/source/hdf5_files.h"
#include "data/source/hdf5_reader.h"

namespace doppio {

struct Hdf5Options {
  int batch = 1;
  bool shuffle = false;
  uint64_t seed = 0;
  uint64_t stream = 0;
};

// Not thread-safe.
class Hdf5Rows {
 public:
  // Opens every file once (Hdf5Files), with a data set for each top. With a batch of 1, the rows of
  // a file may have other shapes than those of the next. Throws FileError.
  Hdf5Rows(const std::string& list, const std::vector<std::string>& tops,
           const Hdf5Options& options);

  const Hdf5Files& files() const { return files_; }
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
  // Returns the batch that Next returned last; before, the shapes of the rows of the first file.
  const std::vector<Rows>& current() const { return batch_; }
  // Returns the name of a sample, with its row counted from 0: "row 4 of 'a.h5'".
  std::string NameOf(int64_t sample) const;
  // Returns the position of the next batch. Callers may change it.
  ShardCursor& cursor() { return cursor_; }

 private:
  const Hdf5Options options_;
  const Hdf5Files files_;
  ShardCursor cursor_;
  std::optional<Hdf5Reader> reader_;  // reads files_
  bool joined_ = false;
  std::vector<Rows> batch_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_HDF5_H_
