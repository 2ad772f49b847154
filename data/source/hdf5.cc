#include "data/source/hdf5.h"

#include <algorithm>
#include <utility>

#include "core/base/narrowed.h"
#include "core/base/random.h"

namespace doppio {

Hdf5Rows::Hdf5Rows(const std::string& list, const std::vector<std::string>& tops,
                   const Hdf5Options& options)
    : options_(options), files_(list, tops, options.batch == 1), cursor_(options.batch) {
  reader_.emplace(files_, RuleAlone(samples(), options.stream), options.seed);
  for (const Shape& shape : files_.all()[0].shapes) batch_.push_back({shape, {}});
}

SampleSet Hdf5Rows::samples() const {
  SampleSet set;
  set.count = files_.rows();
  set.shuffle = options_.shuffle;
  set.order_salt = Stream("hdf5");
  for (const Hdf5Files::File& file : files_.all()) set.blocks.push_back(file.rows);
  for (const Shape& row : files_.all()[0].shapes) {
    if (row.rank() != 3 || set.stored.height > 0) continue;
    const auto height = Narrowed<int>(row[1]), width = Narrowed<int>(row[2]);
    if (height && width) set.stored = set.before_crop = {*height, *width};
  }
  return set;
}

void Hdf5Rows::Join(const GroupRule& rule) {
  if (std::exchange(joined_, true)) return;
  GroupRule own = rule;
  // Without shuffling, blocks do not change the order, so that one file after the other suffices.
  if (!rule.shuffle) own.blocks = samples().blocks;
  reader_.emplace(files_, own, options_.seed);
}

std::string Hdf5Rows::NameOf(int64_t sample) const {
  const int64_t row = reader_->order().UsableRecord(sample);
  const Hdf5Files::File& file = files_.FileOf(row);
  return "row " + std::to_string(row - file.begin) + " of '" + file.path + "'";
}

const std::vector<Hdf5Rows::Rows>& Hdf5Rows::Next() {
  for (int64_t i = 0; i < options_.batch; ++i) {
    const int64_t sample = cursor_.next_sample() + i, row = reader_->order().UsableRecord(sample);
    const Hdf5Files::File& file = files_.FileOf(row);
    const Hdf5Files::Values& tops = reader_->Load(sample, row).at(&file);
    for (size_t t = 0; t < tops.size(); ++t) {
      const int64_t count = file.shapes[t].count();
      batch_[t].shape = file.shapes[t];
      batch_[t].values.resize(options_.batch * count);
      std::copy_n(tops[t].data() + (row - file.begin) * count, count,
                  batch_[t].values.data() + i * count);
    }
  }
  cursor_.Advance();
  return batch_;
}

}  // namespace doppio
