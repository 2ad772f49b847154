#include "data/pipeline/pipeline.h"

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/threads.h"

namespace doppio {
namespace {

// Returns the rule of a source that belongs to no group.
GroupRule RuleAlone(const PipelineOptions& options) {
  GroupRule rule;
  rule.shuffle = options.shuffle;
  rule.rand_skip = options.rand_skip;
  rule.stream = options.stream;
  rule.order_stream = options.stream ^ Stream("shuffle");
  return rule;
}

}  // namespace

// A GPU consumes thousands of images per second, and a core decodes a few hundred. Raw records cost
// little more than copies, so a few threads are fast enough for a GPU.
int ChooseThreads(int cores, bool encoded) {
  constexpr int kMax = 64;
  return encoded ? std::clamp(cores / 2, 1, kMax) : std::clamp(cores / 4, 1, 4);
}

Pipeline::Pipeline(std::unique_ptr<Source> source, const TransformationParameter& transform,
                   Phase phase, const PipelineOptions& options)
    : reader_(std::make_shared<SampleReader>(std::move(source), transform, phase, options)),
      options_(options),
      order_(RuleAlone(options), reader_->source().size(), options.seed) {
  DOPPIO_CHECK(options.batch > 0 && options.rank < options.world, "pipeline options");
  DOPPIO_CHECK(options.batch == 1 || !options.any_size, "samples of several sizes in a batch");
  if (options_.threads <= 0) options_.threads = ChooseThreads(RankCores(), reader_->decodes());
  options_.prefetch = std::max(1, options_.prefetch);
  // At least two small chunks per thread, so that no thread is idle at the end of a batch.
  chunk_samples_ = std::clamp(options_.batch / (2 * options_.threads), 1, 16);
  chunks_ = (options_.batch + chunk_samples_ - 1) / chunk_samples_;
}

Pipeline::~Pipeline() { Stop(); }

SampleSet Pipeline::samples() const {
  SampleSet set;
  set.count = size();
  set.kind = source().kind();
  set.shuffle = options_.shuffle;
  set.rand_skip = options_.rand_skip;
  set.order_salt = Stream("shuffle");
  const ImageShape& image = reader_->image_shape();
  set.stored = set.before_crop = {image.height, image.width};
  return set;
}

void Pipeline::Join(const GroupRule& rule) {
  if (std::exchange(joined_, true)) return;
  Stop();
  order_ = SampleOrder(rule, source().size(), options_.seed);
  usable_ = rule.usable;
  reader_->Join(rule);
}

std::string Pipeline::NameOf(int64_t sample) const {
  const int64_t record = order_.Record(sample);
  return source().Name(usable_ ? usable_(record) : record);
}

RecordProbe Pipeline::Probe() const {
  if (options_.bad_records == 0) return nullptr;
  return [reader = reader_](int64_t index) { return reader->Usable(index); };
}

void Pipeline::Start() {
  // One slot more than `prefetch`, for the batch that the caller holds.
  slots_.resize(static_cast<size_t>(options_.prefetch) + 1);
  for (Slot& slot : slots_) {
    slot.batch.shape = data_shape();
    slot.batch.samples.resize(options_.batch);
    slot.batch.labels.resize(static_cast<size_t>(options_.batch) *
                             static_cast<size_t>(label_count()));
    slot.chunks_left = chunks_;
    slot.failure = nullptr;
  }
  next_chunk_ = next_batch_ * chunks_;
  released_ = next_batch_;
  for (int i = 0; i < options_.threads; ++i) workers_.emplace_back([this] { Work(); });
}

void Pipeline::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  slot_freed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  stop_ = false;
  handed_out_ = false;
}

void Pipeline::Seek(int64_t sample) {
  if (sample == position()) return;
  Stop();
  start_ = sample;
  next_batch_ = 0;
}

void Pipeline::Shard(int rank, int world) {
  if (rank == options_.rank && world == options_.world) return;
  Stop();  // the threads read the members that change
  const int64_t at = position();
  options_.rank = rank;
  options_.world = world;
  Seek(at);
}

const Batch& Pipeline::current() const {
  DOPPIO_CHECK(handed_out_, "no batch");
  return slots_[static_cast<size_t>(next_batch_ - 1) % slots_.size()].batch;
}

const Batch& Pipeline::Next() {
  if (workers_.empty()) Start();
  std::unique_lock<std::mutex> lock(mutex_);
  const auto slots = static_cast<int64_t>(slots_.size());
  if (handed_out_) {
    slots_[released_ % slots].chunks_left = chunks_;
    ++released_;
    handed_out_ = false;
    slot_freed_.notify_all();
  }
  Slot& slot = slots_[next_batch_ % slots];
  if (slot.chunks_left > 0) {
    const auto begin = std::chrono::steady_clock::now();
    batch_ready_.wait(lock, [&slot] { return slot.chunks_left == 0; });
    wait_seconds_ += SecondsSince(begin);
  }
  if (slot.failure) std::rethrow_exception(slot.failure);
  slot.batch.first_sample = next_sample();
  ++next_batch_;
  handed_out_ = true;
  return slot.batch;
}

void Pipeline::Work() {
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
    Slot& slot = slots_[static_cast<size_t>(chunk / chunks_) % slots_.size()];
    if (failure && (!slot.failure || chunk < slot.failed_chunk)) {
      slot.failure = failure;
      slot.failed_chunk = chunk;
    }
    if (--slot.chunks_left == 0) batch_ready_.notify_one();
  }
}

void Pipeline::FillChunk(int64_t chunk, SampleReader::Scratch* scratch) {
  const int64_t number = chunk / chunks_;
  Batch& batch = slots_[static_cast<size_t>(number) % slots_.size()].batch;
  const int64_t first_sample = SampleOf(number);
  const int begin = static_cast<int>(chunk % chunks_) * chunk_samples_;
  const int end = std::min(begin + chunk_samples_, options_.batch);
  for (int row = begin; row < end; ++row) FillSample(first_sample + row, row, &batch, scratch);
}

void Pipeline::FillSample(int64_t sample, int row, Batch* batch,
                          SampleReader::Scratch* scratch) const {
  CutPixels* const to = &batch->samples[row];
  float* const labels = batch->labels.data() + int64_t{row} * label_count();
  const int64_t record = order_.Record(sample);
  const ImageShape shape = usable_ ? reader_->Read(usable_(record), sample, scratch, to, labels)
                                   : reader_->ReadGood(record, sample, scratch, to, labels);
  if (options_.any_size) batch->shape = shape;
}

}  // namespace doppio
