#include "data/pipeline/batch_threads.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/clock.h"
#include "core/base/threads.h"

namespace doppio {
namespace {

// At least two small chunks per thread, so that no thread is idle at the end of a batch.
int ChunkSamples(size_t batch, int threads) {
  return std::clamp(static_cast<int>(batch) / (2 * threads), 1, 16);
}

}  // namespace

// A GPU consumes thousands of images per second, and a core decodes a few hundred. Raw records cost
// little more than copies, so a few threads are fast enough for a GPU.
int ChooseThreads(int cores, bool encoded) {
  constexpr int kMax = 64;
  return encoded ? std::clamp(cores / 2, 1, kMax) : std::clamp(cores / 4, 1, 4);
}

BatchThreads::BatchThreads(int threads, int prefetch, const Batch& empty, Fill fill)
    : fill_(std::move(fill)),
      chunk_samples_(ChunkSamples(empty.samples.size(), threads)),
      chunks_((static_cast<int>(empty.samples.size()) + chunk_samples_ - 1) / chunk_samples_),
      slots_(static_cast<size_t>(prefetch) + 1) {  // one for the batch that the caller holds
  for (Slot& slot : slots_) {
    slot.batch = empty;
    slot.chunks_left = chunks_;
  }
  try {
    for (int i = 0; i < threads; ++i) workers_.emplace_back([this] { Work(); });
  } catch (...) {
    Stop();  // the destructor does not run
    throw;
  }
}

BatchThreads::~BatchThreads() { Stop(); }

void BatchThreads::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  slot_freed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Batch& BatchThreads::Next(double* wait_seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (has_current()) {
    SlotOf(released_).chunks_left = chunks_;
    ++released_;
    slot_freed_.notify_all();
  }
  Slot& slot = SlotOf(next_);
  if (slot.chunks_left > 0) {
    const auto begin = std::chrono::steady_clock::now();
    batch_ready_.wait(lock, [&slot] { return slot.chunks_left == 0; });
    *wait_seconds += SecondsSince(begin);
  }
  if (slot.failure) std::rethrow_exception(slot.failure);
  ++next_;
  return slot.batch;
}

void BatchThreads::Work() {
  UseAllCores();
  SampleReader::Scratch scratch;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    slot_freed_.wait(lock, [this] {
      return stop_ || next_chunk_ / chunks_ < released_ + static_cast<int64_t>(slots_.size());
    });
    if (stop_) return;
    const int64_t chunk = next_chunk_++;
    lock.unlock();
    std::exception_ptr failure;
    try {
      FillChunk(chunk, &scratch);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    Slot& slot = SlotOf(chunk / chunks_);
    if (failure && (!slot.failure || chunk < slot.failed_chunk)) {
      slot.failure = failure;
      slot.failed_chunk = chunk;
    }
    if (--slot.chunks_left == 0) batch_ready_.notify_one();
  }
}

void BatchThreads::FillChunk(int64_t chunk, SampleReader::Scratch* scratch) {
  const int64_t number = chunk / chunks_;
  Batch& batch = SlotOf(number).batch;
  const int begin = static_cast<int>(chunk % chunks_) * chunk_samples_;
  const int end = std::min(begin + chunk_samples_, static_cast<int>(batch.samples.size()));
  for (int row = begin; row < end; ++row) fill_(number, row, &batch, scratch);
}

}  // namespace doppio
