#include "data/source/hdf5_reader.h"

#include <algorithm>
#include <utility>

namespace doppio {

Hdf5Reader::Hdf5Reader(const Hdf5Files& files, const GroupRule& rule, uint64_t seed)
    : files_(files), order_(rule, files.rows(), seed) {
  int64_t end = 0;
  for (int64_t rows : rule.blocks) ends_.push_back(end += rows);
  if (ends_.empty()) ends_.push_back(files.rows());
}

int64_t Hdf5Reader::BlockOf(int64_t row) const {
  return std::upper_bound(ends_.begin(), ends_.end(), row) - ends_.begin();
}

Hdf5Reader::Block Hdf5Reader::ReadBlock(int64_t index) const {
  Block block;
  block.index = index;
  for (const Hdf5Files::File& file : files_.all()) {
    if (file.rows > 0 && BlockOf(file.begin) == index) block.files[&file] = files_.Read(file);
  }
  return block;
}

const Hdf5Reader::Loaded& Hdf5Reader::Load(int64_t sample, int64_t row) {
  const int64_t index = BlockOf(row), turn = BlockOf(order_.Record(sample));
  if (index != turn) {
    if (other_.index != index) other_ = ReadBlock(index);
    return other_.files;
  }
  if (current_.index == index) return current_.files;
  Block ahead;
  if (ahead_.valid()) ahead = ahead_.get();
  current_ = ahead.index == index ? std::move(ahead) : ReadBlock(index);
  const int64_t next = BlockOf(order_.Record(order_.BlockEnd(sample)));
  if (next != index) {
    ahead_ = std::async(std::launch::async, [this, next] { return ReadBlock(next); });
  }
  return current_.files;
}

}  // namespace doppio
