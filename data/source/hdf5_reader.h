// Holds the HDF5 files in memory whose rows a run visits: the files of the current block of an
// order, and those of the next block, which a thread reads ahead.
#ifndef DOPPIO_DATA_SOURCE_HDF5_READER_H_
#define DOPPIO_DATA_SOURCE_HDF5_READER_H_

#include <cstdint>
#include <future>
#include <map>
#include <vector>

#include "data/pipeline/order.h"
#include "data/source/hdf5_files.h"

namespace doppio {

// Not thread-safe.
class Hdf5Reader {
 public:
  using Loaded = std::map<const Hdf5Files::File*, Hdf5Files::Values>;

  // Visits the rows of `files` by `rule`, whose blocks end where files end. `files` must outlive
  // the reader.
  Hdf5Reader(const Hdf5Files& files, const GroupRule& rule, uint64_t seed);
  Hdf5Reader(const Hdf5Reader&) = delete;

  const SampleOrder& order() const { return order_; }
  // Returns the files of the block that has `row`, the row of sample `sample`; valid until the next
  // call. Throws FileError if a file cannot be read.
  const Loaded& Load(int64_t sample, int64_t row);

 private:
  struct Block {
    int64_t index = -1;  // -1: none
    Loaded files;
  };

  int64_t BlockOf(int64_t row) const;
  Block ReadBlock(int64_t index) const;

  const Hdf5Files& files_;
  const SampleOrder order_;
  std::vector<int64_t> ends_;  // per block: the row behind its last one
  // `current_` is the block whose turn it is, `other_` one with a row that replaces a bad record.
  Block current_, other_;
  std::future<Block> ahead_;  // its thread reads files_ and ends_; the destructor waits for it
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_HDF5_READER_H_
