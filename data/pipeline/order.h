// The order in which an endless training run visits the records of a source. A formula maps sample
// i of the stream to a record, so a run can start anywhere and take any share without iterating.
// The order depends only on (seed, stream, size, shuffle, sample).
#ifndef DOPPIO_DATA_PIPELINE_ORDER_H_
#define DOPPIO_DATA_PIPELINE_ORDER_H_

#include <cstdint>

#include "core/base/random.h"

namespace doppio {

// A random permutation of [0, n), computed per element without a table. `key` numbers the
// permutations of one `random`.
class Permutation {
 public:
  Permutation(const Random& random, uint64_t key, int64_t n);
  // Returns the element at `position`, in [0, n).
  int64_t At(int64_t position) const;

 private:
  Random random_;
  uint64_t key_;
  int64_t n_, rows_, columns_;
};

class SampleOrder {
 public:
  // `skip` samples are left out at the start of the run (rand_skip).
  SampleOrder(int64_t size, bool shuffle, const Random& random, int64_t skip)
      : size_(size), shuffle_(shuffle), random_(random), skip_(skip) {}

  // Epoch, position within the epoch, and record index of sample `sample`.
  int64_t Epoch(int64_t sample) const { return (sample + skip_) / size_; }
  int64_t Position(int64_t sample) const { return (sample + skip_) % size_; }
  int64_t Record(int64_t sample) const {
    const int64_t position = Position(sample);
    if (!shuffle_) return position;
    return Permutation(random_, static_cast<uint64_t>(Epoch(sample)), size_).At(position);
  }

 private:
  int64_t size_;
  bool shuffle_;
  Random random_;
  int64_t skip_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_ORDER_H_
