// Threads that fill the batches of an endless sequence ahead of their use. Several threads fill a
// batch together, one chunk of samples at a time.
#ifndef DOPPIO_DATA_PIPELINE_BATCH_THREADS_H_
#define DOPPIO_DATA_PIPELINE_BATCH_THREADS_H_

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "data/pipeline/sample_reader.h"

namespace doppio {

struct Batch {
  // Global index of the first sample in the stream.
  int64_t first_sample = 0;
  ImageShape shape;                // of each sample
  std::vector<CutPixels> samples;  // input of Pipeline::Write
  std::vector<float> labels;       // batch x SampleReader::label_count()
};

// Returns the number of threads that prepare samples for a rank with `cores` cores: half of the
// cores for records that must be decoded, fewer for raw records.
int ChooseThreads(int cores, bool encoded);

// Used by one thread, besides its own.
class BatchThreads {
 public:
  // Fills sample `row` of batch `number`, counted from 0. Called by several threads at once.
  using Fill =
      std::function<void(int64_t number, int row, Batch* batch, SampleReader::Scratch* scratch)>;

  // Starts `threads` threads, which fill batches 0, 1, ..., at most `prefetch` beyond the one that
  // the caller holds. Each begins as a copy of `empty`.
  BatchThreads(int threads, int prefetch, const Batch& empty, Fill fill);
  ~BatchThreads();
  BatchThreads(const BatchThreads&) = delete;
  BatchThreads& operator=(const BatchThreads&) = delete;

  // Returns the next batch, which is valid until the next call; blocks until it is complete, and
  // adds the time to `wait_seconds`. If `fill` has thrown for the batch, throws the error of the
  // first such chunk, as does every later call.
  Batch& Next(double* wait_seconds);
  // Returns the batch that Next returned last; requires has_current().
  const Batch& current() const {
    return slots_[static_cast<size_t>(next_ - 1) % slots_.size()].batch;
  }
  bool has_current() const { return released_ < next_; }

 private:
  struct Slot {
    Batch batch;
    int chunks_left = 0;
    int64_t failed_chunk = 0;  // first failed chunk of the batch
    std::exception_ptr failure;
  };

  void Stop();
  void Work();
  void FillChunk(int64_t chunk, SampleReader::Scratch* scratch);
  Slot& SlotOf(int64_t batch) { return slots_[static_cast<size_t>(batch) % slots_.size()]; }

  const Fill fill_;
  const int chunk_samples_, chunks_;  // per chunk, per batch
  std::vector<Slot> slots_;
  int64_t next_ = 0;  // number of the batch that Next will return

  std::mutex mutex_;
  std::condition_variable slot_freed_, batch_ready_;
  // mutex_ guards the members from here to stop_, and the chunk counts and failures of the slots.
  int64_t next_chunk_ = 0;
  int64_t released_ = 0;  // batches before this one have been released by the caller
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_BATCH_THREADS_H_
