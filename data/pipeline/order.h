// The order in which an endless training run visits the records of a source. A formula maps sample
// i of the stream to a record, so a run can start anywhere and take any share without iterating.
// The order depends only on (seed, stream, size, blocks, classes, shuffle, sample).
#ifndef DOPPIO_DATA_PIPELINE_ORDER_H_
#define DOPPIO_DATA_PIPELINE_ORDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/base/sample_set.h"

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

// Returns the rule of a source that belongs to no group. `stream` is Stream("data", layer).
GroupRule RuleAlone(const SampleSet& samples, uint64_t stream);

// Const methods may be called from several threads at once.
class SampleOrder {
 public:
  // `skip` samples are left out at the start of the run (rand_skip). If there are `blocks`, their
  // sum is `size`, and shuffling draws an order of the blocks in each epoch, and of the records in
  // each block.
  SampleOrder(int64_t size, bool shuffle, const Random& random, int64_t skip,
              std::vector<int64_t> blocks = {});
  // The order of a source with `size` records that follows `rule`.
  SampleOrder(const GroupRule& rule, int64_t size, uint64_t seed);

  // If there are classes, each C samples from a multiple of C on are one record of each of the C
  // classes. An epoch still counts `size` samples, so the records of a small class come several
  // times in it. Shuffling draws an order of the classes for each C samples, and one of the records
  // of a class whenever all of them have come.
  // Epoch, position within the epoch, and record index of sample `sample`.
  int64_t Epoch(int64_t sample) const { return (sample + skip_) / size_; }
  int64_t Position(int64_t sample) const { return (sample + skip_) % size_; }
  int64_t Record(int64_t sample) const;
  // Returns the record to read for sample `sample`: Record(sample), or the next one that all
  // sources of the group can use. Throws FileError.
  int64_t UsableRecord(int64_t sample) const;
  // Returns true if UsableRecord tests records. A source must not skip the one that it returns.
  bool tests_records() const { return usable_ != nullptr; }
  // Returns the first sample after `sample` that is in another block or epoch.
  int64_t BlockEnd(int64_t sample) const;

 private:
  // The order of the blocks in an epoch.
  struct Turns {
    int64_t epoch;
    std::vector<int64_t> blocks, ends;  // position behind the last record of each
  };
  std::shared_ptr<const Turns> TurnsOf(int64_t epoch) const;
  int64_t RecordOfClasses(int64_t sample) const;

  int64_t size_;
  bool shuffle_;
  Random random_;
  int64_t skip_;
  std::vector<int64_t> blocks_, begins_;        // sizes and first records
  mutable std::shared_ptr<const Turns> turns_;  // last used; read and written atomically
  std::function<int64_t(int64_t)> usable_;      // GroupRule::usable
  std::shared_ptr<const ClassLists> classes_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_ORDER_H_
