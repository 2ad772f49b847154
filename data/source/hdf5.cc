#include "data/source/hdf5.h"

#include <algorithm>
#include <utility>

#include "core/base/content/text_file.h"
#include "core/base/error.h"
#include "core/base/narrowed.h"
#include "data/record/path_lines.h"
#include "data/source/hdf5_file.h"

namespace doppio {
namespace {

std::vector<std::string> ReadList(const std::string& list) {
  std::vector<std::string> paths;
  for (const std::string& line : ReadLines(list, "a list of HDF5 files")) {
    for (std::string& path : PathsIn(line)) paths.push_back(std::move(path));
  }
  if (paths.empty()) throw FileError("'", list, "' lists no HDF5 files");
  return paths;
}

const uint64_t kOrderSalt = Stream("hdf5");

}  // namespace

Hdf5Rows::Hdf5Rows(const std::string& list, const std::vector<std::string>& tops,
                   const Hdf5Options& options)
    : tops_(tops), options_(options), next_sample_(int64_t{options.rank} * options.batch) {
  for (const std::string& path : ReadList(list)) {
    const Hdf5File opened(path);
    File file{path, size_, 0, {}};
    for (size_t i = 0; i < tops.size(); ++i) {
      const Shape shape = opened.ShapeOf(tops[i]);
      const std::string what = "data set '" + tops[i] + "' of '" + path + "'";
      if (shape.rank() == 0)
        throw FileError(what, " is a single number; its first axis must be rows");
      file.shapes.emplace_back(std::vector<int64_t>(shape.dims().begin() + 1, shape.dims().end()));
      if (!files_.empty()) CheckRows(file, i);
      if (i > 0 && shape[0] != file.rows) {
        throw FileError(what, " has ", shape[0], " rows, but data set '", tops[0], "' has ",
                        file.rows);
      }
      file.rows = shape[0];
    }
    size_ += file.rows;
    files_.push_back(std::move(file));
  }
  if (size_ == 0) throw FileError("the HDF5 files of '", list, "' have no rows");
  GroupRule alone;
  alone.shuffle = options.shuffle;
  alone.blocks = samples().blocks;
  alone.order_stream = options.stream ^ kOrderSalt;
  Follow(std::move(alone));
  for (const Shape& shape : files_[0].shapes) batch_.push_back({shape, {}});
}

Hdf5Rows::~Hdf5Rows() = default;

// Throws FileError if the rows of a top have another shape than those of the first file, and cannot
// have one.
void Hdf5Rows::CheckRows(const File& file, size_t top) const {
  const Shape &first = files_.front().shapes[top], &now = file.shapes[top];
  if (now == first || (options_.batch == 1 && now.rank() == first.rank())) return;
  throw FileError("data set '", tops_[top], "' of '", file.path, "' has rows of ", now.ToString(),
                  ", but in '", files_.front().path, "' they are ", first.ToString(),
                  now.rank() == first.rank() ? "; only a batch_size of 1 allows that" : "");
}

bool Hdf5Rows::shapes_vary() const {
  return std::any_of(files_.begin(), files_.end(),
                     [this](const File& file) { return file.shapes != files_[0].shapes; });
}

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
  for (const Shape& row : files_[0].shapes) {
    if (row.rank() != 3 || set.stored.height > 0) continue;
    const auto height = Narrowed<int>(row[1]), width = Narrowed<int>(row[2]);
    if (height && width) set.stored = set.before_crop = {*height, *width};
  }
  return set;
}

void Hdf5Rows::Join(const GroupRule& rule) {
  if (std::exchange(joined_, true)) return;
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

size_t Hdf5Rows::FileOf(int64_t row) const {
  const auto after = std::upper_bound(files_.begin(), files_.end(), row,
                                      [](int64_t at, const File& file) { return at < file.begin; });
  return after - files_.begin() - 1;
}

Hdf5Rows::Loaded Hdf5Rows::ReadPart(int64_t part) const {
  Loaded loaded;
  loaded.part = part;
  for (size_t index : parts_[part].files) {
    const Hdf5File file(files_[index].path);
    std::vector<std::vector<float>>& tops = loaded.files[index];
    for (size_t i = 0; i < tops_.size(); ++i) {
      tops.push_back(file.Read(tops_[i]));
      const int64_t count = files_[index].rows * files_[index].shapes[i].count();
      if (static_cast<int64_t>(tops[i].size()) == count) continue;
      throw FileError("data set '", tops_[i], "' of '", files_[index].path,
                      "' has changed its size since the start");
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
  const int64_t row = RowOf(sample);
  const File& file = files_[FileOf(row)];
  return "row " + std::to_string(row - file.begin) + " of '" + file.path + "'";
}

const std::vector<Hdf5Rows::Rows>& Hdf5Rows::Next() {
  for (int64_t i = 0; i < options_.batch; ++i) {
    const int64_t sample = next_sample_ + i, row = RowOf(sample);
    const size_t index = FileOf(row);
    const File& file = files_[index];
    const std::vector<std::vector<float>>& tops = Load(sample, row).files.at(index);
    for (size_t t = 0; t < tops.size(); ++t) {
      const int64_t count = file.shapes[t].count();
      batch_[t].shape = file.shapes[t];
      batch_[t].values.resize(options_.batch * count);
      std::copy_n(tops[t].data() + (row - file.begin) * count, count,
                  batch_[t].values.data() + i * count);
    }
  }
  next_sample_ += int64_t{options_.batch} * options_.world;
  return batch_;
}

}  // namespace doppio
