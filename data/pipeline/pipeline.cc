#include "data/pipeline/pipeline.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/threads.h"

namespace doppio {

Pipeline::Pipeline(std::unique_ptr<Source> source, const TransformationParameter& transform,
                   Phase phase, const PipelineOptions& options)
    : reader_(std::make_shared<SampleReader>(std::move(source), transform, phase, options)),
      options_(options),
      classes_(options.balance ? std::make_shared<ClassLists>(reader_->RecordsByClass()) : nullptr),
      order_(RuleAlone(samples(), options.stream), reader_->source().size(), options.seed),
      cursor_(options.batch) {
  DOPPIO_CHECK(options.batch > 0, "pipeline options");
  DOPPIO_CHECK(options.batch == 1 || !options.any_size, "samples of several sizes in a batch");
  if (options_.threads <= 0) options_.threads = ChooseThreads(RankCores(), reader_->decodes());
  options_.prefetch = std::max(1, options_.prefetch);
}

SampleSet Pipeline::samples() const {
  SampleSet set;
  const Source& source = reader_->source();
  set.count = source.size() == kEndless ? 0 : source.size();
  set.kind = source.kind();
  set.shuffle = options_.shuffle;
  set.rand_skip = options_.rand_skip;
  set.order_salt = Stream("shuffle");
  set.classes = classes_;
  const ImageShape& image = reader_->image_shape();
  set.stored = set.before_crop = {image.height, image.width};
  return set;
}

void Pipeline::Join(const GroupRule& rule) {
  if (std::exchange(joined_, true)) return;
  threads_.reset();
  order_ = SampleOrder(rule, reader_->source().size(), options_.seed);
  reader_->Join(rule);
}

RecordProbe Pipeline::Probe() const {
  if (options_.bad_records == 0) return nullptr;
  return [reader = reader_](int64_t index) { return reader->Usable(index); };
}

void Pipeline::Start() {
  const int label_count = reader_->label_count();
  Batch empty;
  empty.shape = reader_->data_shape();
  empty.samples.resize(options_.batch);
  empty.labels.resize(static_cast<size_t>(options_.batch) * static_cast<size_t>(label_count));
  // The threads get a copy of the cursor, which moves on with Next.
  threads_ = std::make_unique<BatchThreads>(
      options_.threads, options_.prefetch, empty,
      [this, label_count, start = cursor_](int64_t number, int row, Batch* batch,
                                           SampleReader::Scratch* scratch) {
        CutPixels* const to = &batch->samples[row];
        float* const labels = batch->labels.data() + int64_t{row} * label_count;
        const int64_t sample = start.next_sample(number) + row;
        const int64_t record = order_.UsableRecord(sample);
        const ImageShape shape = order_.tests_records()
                                     ? reader_->Read(record, sample, scratch, to, labels)
                                     : reader_->ReadGood(record, sample, scratch, to, labels);
        if (options_.any_size) batch->shape = shape;
      });
}

void Pipeline::Seek(int64_t sample) {
  if (sample == cursor_.position()) return;
  threads_.reset();
  cursor_.Seek(sample);
}

void Pipeline::Shard(int rank, int world) {
  if (cursor_.Shard(rank, world)) threads_.reset();
}

const Batch& Pipeline::current() const {
  DOPPIO_CHECK(has_current(), "no batch");
  return threads_->current();
}

const Batch& Pipeline::Next() {
  if (threads_ == nullptr) Start();
  Batch& batch = threads_->Next(&wait_seconds_);
  batch.first_sample = cursor_.next_sample();
  cursor_.Advance();
  return batch;
}

}  // namespace doppio
