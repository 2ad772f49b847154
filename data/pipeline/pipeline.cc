#include "data/pipeline/pipeline.h"

#include <algorithm>
#include <utility>

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

Pipeline::Pipeline(std::unique_ptr<Source> source, const TransformationParameter& transform,
                   Phase phase, const PipelineOptions& options)
    : reader_(std::make_shared<SampleReader>(std::move(source), transform, phase, options)),
      options_(options),
      order_(RuleAlone(options), reader_->source().size(), options.seed) {
  DOPPIO_CHECK(options.batch > 0 && options.rank < options.world, "pipeline options");
  DOPPIO_CHECK(options.batch == 1 || !options.any_size, "samples of several sizes in a batch");
  if (options_.threads <= 0) options_.threads = ChooseThreads(RankCores(), reader_->decodes());
  options_.prefetch = std::max(1, options_.prefetch);
}

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
  threads_.reset();
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
  Batch empty;
  empty.shape = data_shape();
  empty.samples.resize(options_.batch);
  empty.labels.resize(static_cast<size_t>(options_.batch) * static_cast<size_t>(label_count()));
  threads_ = std::make_unique<BatchThreads>(
      options_.threads, options_.prefetch, next_batch_, empty,
      [this](int64_t number, int row, Batch* batch, SampleReader::Scratch* scratch) {
        FillSample(SampleOf(number) + row, row, batch, scratch);
      });
}

void Pipeline::Seek(int64_t sample) {
  if (sample == position()) return;
  threads_.reset();
  start_ = sample;
  next_batch_ = 0;
}

void Pipeline::Shard(int rank, int world) {
  if (rank == options_.rank && world == options_.world) return;
  threads_.reset();
  const int64_t at = position();
  options_.rank = rank;
  options_.world = world;
  Seek(at);
}

const Batch& Pipeline::current() const {
  DOPPIO_CHECK(has_current(), "no batch");
  return threads_->current();
}

const Batch& Pipeline::Next() {
  if (threads_ == nullptr) Start();
  Batch& batch = threads_->Next(&wait_seconds_);
  batch.first_sample = next_sample();
  ++next_batch_;
  return batch;
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
