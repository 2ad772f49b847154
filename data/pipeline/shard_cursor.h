// The position of one rank in the endless stream of samples that all ranks divide: from position p,
// batch b of rank r has the `batch` samples from p + (b * world + r) * batch on.
#ifndef DOPPIO_DATA_PIPELINE_SHARD_CURSOR_H_
#define DOPPIO_DATA_PIPELINE_SHARD_CURSOR_H_

#include <cstdint>

namespace doppio {

class ShardCursor {
 public:
  // Begins at sample 0, as the only rank. Batches have `batch` samples.
  explicit ShardCursor(int batch) : batch_(batch) {}

  // Returns the global index of the first sample of this rank's next batch, or of the batch that is
  // `ahead` batches of this rank later.
  int64_t next_sample(int64_t ahead = 0) const {
    return position_ + (ahead * world_ + rank_) * batch_;
  }
  // Returns the first sample of rank 0's next batch, the same number on every rank.
  int64_t position() const { return position_; }

  // Continues at `sample`, a value of position().
  void Seek(int64_t sample) { position_ = sample; }
  // Continues behind the next batches of all ranks.
  void Advance() { position_ += int64_t{world_} * batch_; }
  // Changes the rank and the number of ranks. The position stays the same. Returns false if they
  // stay the same, too.
  bool Shard(int rank, int world) {
    const bool changes = rank != rank_ || world != world_;
    rank_ = rank;
    world_ = world;
    return changes;
  }

 private:
  int batch_;
  int rank_ = 0, world_ = 1;
  int64_t position_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_SHARD_CURSOR_H_
