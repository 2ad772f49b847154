#include "data/pipeline/order.h"

#include <algorithm>
#include <cmath>

namespace doppio {

GroupRule RuleAlone(const SampleSet& samples, uint64_t stream) {
  GroupRule rule;
  rule.shuffle = samples.shuffle;
  rule.rand_skip = samples.rand_skip;
  rule.blocks = samples.blocks;
  rule.classes = samples.classes;
  rule.stream = stream;
  rule.order_stream = stream ^ samples.order_salt;
  return rule;
}

Permutation::Permutation(const Random& random, uint64_t key, int64_t n)
    : random_(random), key_(key), n_(n) {
  columns_ = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(n))));
  rows_ = (n + columns_ - 1) / columns_;
}

// A Feistel network on a grid that is barely larger than n. Each round shifts one coordinate by a
// random amount that depends on the other coordinate. A round can be undone, so the mapping is
// one-to-one. A cell beyond n passes through the network again until the result is below n; the
// mapping stays one-to-one, and a second pass is rare.
int64_t Permutation::At(int64_t position) const {
  constexpr uint64_t kRounds = 8;
  int64_t row = position / columns_, column = position % columns_;
  do {
    for (uint64_t round = 0; round < kRounds; round += 2) {
      auto draw = [this](uint64_t r, int64_t other, int64_t n) {
        const uint64_t element = ((r << 40) | static_cast<uint64_t>(other)) << 2;
        return static_cast<int64_t>(random_.Below(static_cast<uint32_t>(n), key_, element));
      };
      row = (row + draw(round, column, rows_)) % rows_;
      column = (column + draw(round + 1, row, columns_)) % columns_;
    }
  } while (row * columns_ + column >= n_);
  return row * columns_ + column;
}

SampleOrder::SampleOrder(int64_t size, bool shuffle, const Random& random, int64_t skip,
                         std::vector<int64_t> blocks)
    : size_(size), shuffle_(shuffle), random_(random), skip_(skip), blocks_(std::move(blocks)) {
  int64_t begin = 0;
  for (int64_t records : blocks_) {
    begins_.push_back(begin);
    begin += records;
  }
}

SampleOrder::SampleOrder(const GroupRule& rule, int64_t size, uint64_t seed)
    : SampleOrder(size, rule.shuffle, Random(seed, rule.order_stream), 0, rule.blocks) {
  const Random random(seed, rule.stream ^ Stream("rand_skip"));
  if (rule.rand_skip > 0) skip_ = random.Below(rule.rand_skip, 0, 0);
  usable_ = rule.usable;
  classes_ = rule.classes;
}

std::shared_ptr<const SampleOrder::Turns> SampleOrder::TurnsOf(int64_t epoch) const {
  std::shared_ptr<const Turns> known = std::atomic_load(&turns_);
  if (known != nullptr && known->epoch == epoch) return known;
  const auto count = static_cast<int64_t>(blocks_.size());
  // Even keys belong to permutations of blocks, odd keys to permutations of records.
  const Permutation drawn(random_, static_cast<uint64_t>(epoch) * 2, count);
  auto turns = std::make_shared<Turns>();
  turns->epoch = epoch;
  int64_t end = 0;
  for (int64_t turn = 0; turn < count; ++turn) {
    turns->blocks.push_back(shuffle_ ? drawn.At(turn) : turn);
    turns->ends.push_back(end += blocks_[turns->blocks.back()]);
  }
  std::atomic_store(&turns_, std::shared_ptr<const Turns>(turns));
  return turns;
}

int64_t SampleOrder::RecordOfClasses(int64_t sample) const {
  const auto count = static_cast<int64_t>(classes_->size());
  const int64_t turn = (sample + skip_) / count, place = (sample + skip_) % count;
  // Even keys belong to permutations of classes, odd keys to permutations of records.
  const auto key = [](int64_t of) { return static_cast<uint64_t>(of) * 2; };
  const int64_t label = shuffle_ ? Permutation(random_, key(turn), count).At(place) : place;
  const std::vector<int64_t>& records = (*classes_)[label];
  const auto size = static_cast<int64_t>(records.size());
  if (!shuffle_) return records[turn % size];
  const Permutation drawn(random_, key(turn / size * count + label) + 1, size);
  return records[drawn.At(turn % size)];
}

int64_t SampleOrder::Record(int64_t sample) const {
  if (classes_ != nullptr) return RecordOfClasses(sample);
  const int64_t epoch = Epoch(sample), position = Position(sample);
  if (!shuffle_) return position;
  if (blocks_.empty())
    return Permutation(random_, static_cast<uint64_t>(epoch), size_).At(position);
  const std::shared_ptr<const Turns> turns = TurnsOf(epoch);
  const auto end = std::upper_bound(turns->ends.begin(), turns->ends.end(), position);
  const int64_t turn = end - turns->ends.begin(), block = turns->blocks[turn];
  const auto key = static_cast<uint64_t>(epoch * static_cast<int64_t>(blocks_.size()) + turn);
  return begins_[block] +
         Permutation(random_, key * 2 + 1, blocks_[block]).At(position - (*end - blocks_[block]));
}

int64_t SampleOrder::UsableRecord(int64_t sample) const {
  const int64_t record = Record(sample);
  return usable_ ? usable_(record) : record;
}

int64_t SampleOrder::BlockEnd(int64_t sample) const {
  const int64_t position = Position(sample);
  if (blocks_.empty()) return sample - position + size_;
  const std::shared_ptr<const Turns> turns = TurnsOf(Epoch(sample));
  return sample - position + *std::upper_bound(turns->ends.begin(), turns->ends.end(), position);
}

}  // namespace doppio
