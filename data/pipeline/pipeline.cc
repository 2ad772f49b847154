#include "data/pipeline/pipeline.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/threads.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

int64_t DrawSkip(uint32_t rand_skip, const Random& random) {
  return rand_skip == 0 ? 0 : random.Below(rand_skip, 0, 0);
}

SampleOrder MakeOrder(const Source& source, const PipelineOptions& options) {
  const Random skip(options.seed, options.stream ^ Stream("rand_skip"));
  const Random shuffle(options.seed, options.stream ^ Stream("shuffle"));
  return SampleOrder(source.size(), options.shuffle, shuffle, DrawSkip(options.rand_skip, skip));
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
    : source_(std::move(source)),
      augment_(transform, phase, Random(options.seed, options.stream ^ Stream("augment")),
               options.sizes_vary, options.mean_at),
      options_(options),
      order_(MakeOrder(*source_, options)),
      bad_(options.bad_records, source_->size()) {
  DOPPIO_CHECK(options.batch > 0 && options.rank < options.world, "pipeline options");
  Scratch scratch;
  WithGoodRecord(0, [&](int64_t index) {
    source_->Read(index, &scratch.record);
    const ImageShape image = PixelsOf(&scratch).shape;
    data_shape_ = augment_.OutputShape(image);
    if (options.max_boxes > 0) LabelObjects(image, 0, &scratch.record);
  });
  label_count_ = static_cast<int>(scratch.record.labels.size());
  if (options_.threads <= 0) {
    const bool encoded = scratch.record.encoded != nullptr || source_->decodes();
    options_.threads = ChooseThreads(RankCores(), encoded);
  }
  options_.prefetch = std::max(1, options_.prefetch);
  // At least two small chunks per thread, so that no thread is idle at the end of a batch.
  chunk_samples_ = std::clamp(options_.batch / (2 * options_.threads), 1, 16);
  chunks_ = (options_.batch + chunk_samples_ - 1) / chunk_samples_;
}

Pipeline::~Pipeline() { Stop(); }

// Calls use(index). If the record is bad and may be left out, tries the next record instead. The
// record that is used does not depend on threads or ranks, or on the records left out before.
template <class F>
void Pipeline::WithGoodRecord(int64_t index, const F& use) {
  for (;; index = (index + 1) % source_->size()) {
    try {
      return use(index);
    } catch (const Error& e) {
      bad_.Skip(index, source_->Name(index), e);
    }
  }
}

void Pipeline::Start() {
  // One slot more than `prefetch`, for the batch that the caller holds.
  slots_.resize(static_cast<size_t>(options_.prefetch) + 1);
  for (Slot& slot : slots_) {
    slot.batch.samples.resize(options_.batch);
    slot.batch.labels.resize(static_cast<size_t>(options_.batch) *
                             static_cast<size_t>(label_count_));
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
  Scratch scratch;
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

void Pipeline::FillChunk(int64_t chunk, Scratch* scratch) {
  const int64_t number = chunk / chunks_;
  Batch& batch = slots_[static_cast<size_t>(number) % slots_.size()].batch;
  const int64_t first_sample = SampleOf(number);
  const int begin = static_cast<int>(chunk % chunks_) * chunk_samples_;
  const int end = std::min(begin + chunk_samples_, options_.batch);
  for (int row = begin; row < end; ++row) FillSample(first_sample + row, row, &batch, scratch);
}

DecodeOptions Pipeline::DecodeOf(const Record& record) const {
  DecodeOptions decode = record.decode;
  if (augment_.color() != DecodeOptions::Color::kAsStored) decode.color = augment_.color();
  return decode;
}

Pixels Pipeline::PixelsOf(Scratch* scratch) const {
  const Record& record = scratch->record;
  if (record.encoded == nullptr) return record.pixels;
  Decode(record.encoded, record.encoded_bytes, DecodeOf(record), &scratch->image);
  return scratch->image.pixels();
}

void Pipeline::CheckShape(const ImageShape& image) const {
  const ImageShape shape = augment_.OutputShape(image);
  if (shape == data_shape_) return;
  throw FileError("it is " + shape.ToString() +
                  " (channels x height x width), but the first one is " + data_shape_.ToString() +
                  ": images of one batch must be of one size; set new_height and new_width "
                  "(ImageData), resize_param, or crop_size");
}

void Pipeline::LabelObjects(const ImageShape& image, uint64_t sample, Record* record) const {
  const std::vector<ObjectBox> objects =
      augment_.ObjectsIn(augment_.CutOf(image, sample), image, record->objects);
  const auto room = static_cast<size_t>(options_.max_boxes);
  if (objects.size() > room) {
    throw FileError("it has " + std::to_string(objects.size()) + " boxes, but there is room for " +
                    std::to_string(room) + "; increase max_boxes in annotated_data_param");
  }
  const ImageShape sample_shape = augment_.OutputShape(image);
  const float across = options_.box_columns > 0 ? static_cast<float>(sample_shape.width) /
                                                      static_cast<float>(options_.box_columns)
                                                : 1;
  const float down = options_.box_rows > 0 ? static_cast<float>(sample_shape.height) /
                                                 static_cast<float>(options_.box_rows)
                                           : 1;
  record->labels.assign(room * kBoxLabels, -1);
  float* to = record->labels.data();
  for (const ObjectBox& o : objects) {
    const float row[kBoxLabels] = {0,
                                   o.label,
                                   o.instance,
                                   o.box.xmin * across,
                                   o.box.ymin * down,
                                   o.box.xmax * across,
                                   o.box.ymax * down,
                                   o.difficult ? 1.0f : 0.0f};
    to = std::copy(row, row + kBoxLabels, to);
  }
}

// Writes the sample without an intermediate image if the record is a JPEG with one or three
// components, as most photographs are. Returns false for all other records.
bool Pipeline::FillFromJpeg(int64_t sample, Scratch* scratch, CutPixels* to) const {
  const Record& record = scratch->record;
  if (record.encoded == nullptr) return false;
  if (FormatOf(record.encoded, record.encoded_bytes) != ImageFormat::kJpeg) return false;
  JpegReader reader(record.encoded, record.encoded_bytes);
  if (reader.components() != 1 && reader.components() != 3) return false;
  const DecodeOptions decode = DecodeOf(record);
  if (decode.scaled) reader.ScaleTo(decode.height, decode.width);
  ImageShape image = {reader.ChannelsFor(decode.color), reader.height(), reader.width()};
  if (decode.height > 0 && decode.width > 0) {
    image.height = decode.height;
    image.width = decode.width;
  }
  CheckShape(image);
  const Cut cut = augment_.CutOf(image, static_cast<uint64_t>(sample));
  WriteJpegCut(&reader, image, cut, augment_, &scratch->jpeg, to);
  return true;
}

void Pipeline::FillSample(int64_t sample, int row, Batch* batch, Scratch* scratch) {
  WithGoodRecord(order_.Record(sample),
                 [&](int64_t index) { FillFrom(index, sample, row, batch, scratch); });
}

void Pipeline::FillFrom(int64_t index, int64_t sample, int row, Batch* batch,
                        Scratch* scratch) const {
  CutPixels* const to = &batch->samples[row];
  source_->ReadSample(index, static_cast<uint64_t>(sample), &scratch->record);
  if (!FillFromJpeg(sample, scratch, to)) {
    const Pixels pixels = PixelsOf(scratch);
    CheckShape(pixels.shape);
    augment_.Apply(pixels, static_cast<uint64_t>(sample), to);
    if (options_.max_boxes > 0) {
      LabelObjects(pixels.shape, static_cast<uint64_t>(sample), &scratch->record);
    }
  }
  const std::vector<float>& labels = scratch->record.labels;
  if (static_cast<int>(labels.size()) != label_count_) {
    throw FileError("it has " + std::to_string(labels.size()) +
                    " labels, but the first record has " + std::to_string(label_count_));
  }
  std::copy(labels.begin(), labels.end(), batch->labels.begin() + int64_t{row} * label_count_);
}

}  // namespace doppio
