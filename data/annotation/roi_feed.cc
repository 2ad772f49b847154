#include "data/annotation/roi_feed.h"

#include <utility>

#include "core/base/clock.h"
#include "core/base/threads.h"

namespace doppio {

RoiFeed::RoiFeed(std::unique_ptr<Source> source, const RoiFeedOptions& options)
    : reader_(std::make_shared<RoiReader>(std::move(source), options)),
      options_(options),
      order_size_(reader_->source().size() * (options.use_flipped ? 2 : 1)),
      order_(order_size_, options.shuffle, Random(options.seed, options.stream), 0) {}

RoiFeed::~RoiFeed() {
  if (read_ahead_.valid()) read_ahead_.wait();
}

const RoiSample& RoiFeed::Next(int rank, int ranks) {
  const int64_t begun = MonotonicNs();
  current_ = Take(position_ + rank);
  wait_seconds_ += 1e-9 * static_cast<double>(MonotonicNs() - begun);
  position_ += ranks;
  ReadAhead(position_ + rank);
  return current_;
}

const RoiSample& RoiFeed::current() {
  if (!current_.data.empty()) return current_;
  current_ = Take(position_);
  // The first Next gets a copy instead of reading the image again.
  std::promise<RoiSample> copy;
  copy.set_value(current_);
  read_ahead_ = copy.get_future();
  ahead_ = position_;
  return current_;
}

RoiSample RoiFeed::Take(int64_t sample) {
  if (!read_ahead_.valid()) return Read(sample);
  const bool right = ahead_ == sample;
  ahead_ = -1;
  if (right) return read_ahead_.get();
  read_ahead_.wait();
  read_ahead_ = {};
  return Read(sample);
}

void RoiFeed::ReadAhead(int64_t sample) {
  ahead_ = sample;
  read_ahead_ = std::async(std::launch::async, [this, sample] {
    UseAllCores();
    return Read(sample);
  });
}

SampleSet RoiFeed::samples() const {
  SampleSet set;
  set.count = size();
  set.shuffle = options_.shuffle;
  set.stored = set.before_crop = {options_.short_side, options_.short_side};
  return set;
}

void RoiFeed::Join(const GroupRule& rule) {
  if (std::exchange(joined_, true)) return;
  if (read_ahead_.valid()) read_ahead_.wait();
  read_ahead_ = {};
  order_ = SampleOrder(rule, order_size_, options_.seed);
}

// Records are found bad by their images, whether they are flipped or not.
RecordProbe RoiFeed::Probe() const {
  if (options_.bad_records == 0) return nullptr;
  return
      [reader = reader_](int64_t index) { return reader->Usable(index % reader->source().size()); };
}

RoiSample RoiFeed::Read(int64_t sample) {
  const int64_t images = source().size(), index = order_.UsableRecord(sample);
  const bool flipped = index >= images;
  const auto number = static_cast<uint64_t>(sample);
  return order_.tests_records() ? reader_->Read(index % images, flipped, number)
                                : reader_->ReadGood(index % images, flipped, number);
}

}  // namespace doppio
