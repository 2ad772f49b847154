#include "data/source/hdf5.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/text_file.h"
#include "data/source/hdf5_file.h"
#include "data/source/path_lines.h"

namespace doppio {
namespace {

std::vector<std::string> ReadList(const std::string& list) {
  std::vector<std::string> paths;
  for (const std::string& line : ReadLines(list, "a list of HDF5 files")) {
    for (std::string& path : PathsIn(line)) paths.push_back(std::move(path));
  }
  if (paths.empty()) throw FileError("'" + list + "' lists no HDF5 files");
  return paths;
}

const uint64_t kOrderSalt = Stream("hdf5");

}  // namespace

Hdf5Rows::Hdf5Rows(const std::string& list, const std::vector<std::string>& tops,
                   const Hdf5Options& options)
    : tops_(tops), options_(options), next_sample_(int64_t{options.rank} * options.batch) {
  for (const std::string& path : ReadList(list)) {
    const Hdf5File file(path);
    int64_t rows = -1;
    for (size_t i = 0; i < tops.size(); ++i) {
      const Shape shape = file.ShapeOf(tops[i]);
      const std::string what = "data set '" + tops[i] + "' of '" + path + "'";
      if (shape.rank() == 0)
        throw FileError(what + " is a single number; its first axis must be rows");
      const Shape row(std::vector<int64_t>(shape.dims().begin() + 1, shape.dims().end()));
      if (files_.empty()) row_shapes_.push_back(row);
      if (row != row_shapes_[i]) {
        throw FileError(what + " has rows of " + row.ToString() + ", but in '" +
                        files_.front().path + "' they are " + row_shapes_[i].ToString());
      }
      if (i > 0 && shape[0] != rows) {
        throw FileError(what + " has " + std::to_string(shape[0]) + " rows, but data set '" +
                        tops[0] + "' has " + std::to_string(rows));
      }
      rows = shape[0];
    }
    files_.push_back({path, rows});
    size_ += rows;
  }
  if (size_ == 0) throw FileError("the HDF5 files of '" + list + "' have no rows");
  GroupRule alone;
  alone.shuffle = options.shuffle;
  alone.blocks = samples().blocks;
  alone.order_stream = options.stream ^ kOrderSalt;
  Follow(std::move(alone));
}

Hdf5Rows::~Hdf5Rows() = default;

void Hdf5Rows::Seek(int64_t sample) {
  next_sample_ = sample + int64_t{options_.rank} * options_.batch;
}

void Hdf5Rows::Shard(int rank, int world) {
  const int64_t at = position();
  options_.rank = rank;
  options_.world = world;
  Seek(at);
}

SampleSet Hdf5Rows::samples() const {
  SampleSet set;
  set.count = size_;
  set.shuffle = options_.shuffle;
  set.order_salt = kOrderSalt;
  for (const File& file : files_) set.blocks.push_back(file.rows);
  for (const Shape& row : row_shapes_) {
    if (row.rank() != 3 || set.stored.height > 0) continue;
    set.stored = set.before_crop = {static_cast<int>(row[1]), static_cast<int>(row[2])};
  }
  return set;
}

void Hdf5Rows::Join(const GroupRule& rule) {
  usable_ = rule.usable;
  Follow(rule);
}

void Hdf5Rows::Follow(GroupRule rule) {
  // Without shuffling, blocks do not change the order, so that one file after the other suffices.
  if (!rule.shuffle) rule.blocks = samples().blocks;
  order_.emplace(rule, size_, options_.seed);
  if (rule.blocks.empty()) rule.blocks = {size_};
  parts_.clear();
  size_t file = 0;
  int64_t begin = 0, row = 0;
  for (int64_t rows : rule.blocks) {
    Part part{begin, begin + rows, {}};
    for (; file < files_.size() && row + files_[file].rows <= part.end; ++file) {
      if (files_[file].rows > 0) part.files.push_back(file);
      row += files_[file].rows;
    }
    begin = part.end;
    parts_.push_back(std::move(part));
  }
  if (ahead_.valid()) ahead_.wait();
  ahead_ = {};
  current_ = other_ = {};
}

int64_t Hdf5Rows::PartOf(int64_t row) const {
  return std::upper_bound(parts_.begin(), parts_.end(), row,
                          [](int64_t at, const Part& part) { return at < part.end; }) -
         parts_.begin();
}

Hdf5Rows::Loaded Hdf5Rows::ReadPart(int64_t part) const {
  Loaded loaded;
  loaded.part = part;
  loaded.tops.resize(tops_.size());
  for (size_t index : parts_[part].files) {
    const Hdf5File file(files_[index].path);
    for (size_t i = 0; i < tops_.size(); ++i) {
      std::vector<float> values = file.Read(tops_[i]);
      if (static_cast<int64_t>(values.size()) != files_[index].rows * row_shapes_[i].count()) {
        throw FileError("data set '" + tops_[i] + "' of '" + files_[index].path +
                        "' has changed its size since the start");
      }
      std::vector<float>& top = loaded.tops[i];
      if (top.empty()) {
        top = std::move(values);
      } else {
        top.insert(top.end(), values.begin(), values.end());
      }
    }
  }
  return loaded;
}

// Returns the part that has row `row`, which belongs to sample `sample`.
const Hdf5Rows::Loaded& Hdf5Rows::Load(int64_t sample, int64_t row) {
  const int64_t part = PartOf(row), turn = PartOf(order_->Record(sample));
  if (part != turn) {
    if (other_.part != part) other_ = ReadPart(part);
    return other_;
  }
  if (current_.part == part) return current_;
  Loaded ahead;
  if (ahead_.valid()) ahead = ahead_.get();
  current_ = ahead.part == part ? std::move(ahead) : ReadPart(part);
  const int64_t next = PartOf(order_->Record(order_->BlockEnd(sample)));
  if (next != part) {
    ahead_ = std::async(std::launch::async, [this, next] { return ReadPart(next); });
  }
  return current_;
}

int64_t Hdf5Rows::RowOf(int64_t sample) const {
  const int64_t row = order_->Record(sample);
  return usable_ ? usable_(row) : row;
}

std::string Hdf5Rows::NameOf(int64_t sample) const {
  int64_t row = RowOf(sample);
  size_t file = 0;
  for (; row >= files_[file].rows; ++file) row -= files_[file].rows;
  return "row " + std::to_string(row) + " of '" + files_[file].path + "'";
}

void Hdf5Rows::Next(const std::vector<float*>& tops) {
  DOPPIO_CHECK(tops.size() == tops_.size(), "tops");
  for (int64_t i = 0; i < options_.batch; ++i) {
    const int64_t sample = next_sample_ + i, row = RowOf(sample);
    const Loaded& part = Load(sample, row);
    const int64_t begin = row - parts_[part.part].begin;
    for (size_t t = 0; t < tops.size(); ++t) {
      const int64_t count = row_shapes_[t].count();
      const float* from = part.tops[t].data() + begin * count;
      std::copy(from, from + count, tops[t] + i * count);
    }
  }
  next_sample_ += int64_t{options_.batch} * options_.world;
}

}  // namespace doppio
