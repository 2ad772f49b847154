// The order in which an endless training run visits the records of a source: sample i of the stream
// is a record by a formula, so any place can be started at and any share be taken without walking
// there. Depends on (seed, stream, size, shuffle, sample) and nothing else.
#ifndef DOPPIO_DATA_PIPELINE_ORDER_H_
#define DOPPIO_DATA_PIPELINE_ORDER_H_

#include <cstdint>

#include "core/base/random.h"

namespace doppio {

// A random permutation of [0, n) as a function: no table, any element at once.
// `key` numbers the permutations of one `random`.
class Permutation {
 public:
  Permutation(const Random& random, uint64_t key, int64_t n);
  int64_t At(int64_t position) const;

 private:
  Random random_;
  uint64_t key_;
  int64_t n_, rows_, columns_;
};

class SampleOrder {
 public:
  // `skip`: samples left out at the very start (rand_skip).
  SampleOrder(int64_t size, bool shuffle, const Random& random, int64_t skip)
      : size_(size), shuffle_(shuffle), random_(random), skip_(skip) {}

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
