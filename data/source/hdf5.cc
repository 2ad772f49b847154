#include "data/source/hdf5.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "core/base/content_kind.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "data/pipeline/order.h"
#include "data/source/hdf5_file.h"

namespace doppio {
namespace {

// As in Caffe, any white space separates names.
std::vector<std::string> ReadList(const std::string& list) {
  const std::string content = ReadFile(list);
  CheckIsText(list, content, "a list of HDF5 files");
  std::istringstream text(content);
  std::vector<std::string> paths{std::istream_iterator<std::string>(text), {}};
  if (paths.empty()) throw FileError("'" + list + "' lists no HDF5 files");
  return paths;
}

}  // namespace

Hdf5Rows::Hdf5Rows(const std::string& list, const std::vector<std::string>& tops,
                   const Hdf5Options& options)
    : tops_(tops),
      options_(options),
      random_(options.seed, options.stream ^ Stream("hdf5")),
      next_sample_(int64_t{options.rank} * options.batch) {
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

int64_t Hdf5Rows::FileOfTurn(int64_t turn) const {
  const auto files = static_cast<int64_t>(files_.size());
  if (!options_.shuffle) return turn % files;
  return Permutation(random_, static_cast<uint64_t>(turn / files) * 2, files).At(turn % files);
}

Hdf5Rows::Place Hdf5Rows::Find(int64_t sample) {
  const auto files = static_cast<int64_t>(files_.size());
  const int64_t epoch = sample / size_, position = sample % size_;
  if (epoch != epoch_) {
    epoch_ends_.clear();
    int64_t end = 0;
    for (int64_t i = 0; i < files; ++i) {
      end += files_[FileOfTurn(epoch * files + i)].rows;
      epoch_ends_.push_back(end);
    }
    epoch_ = epoch;
  }
  const auto it = std::upper_bound(epoch_ends_.begin(), epoch_ends_.end(), position);
  const int64_t place = it - epoch_ends_.begin();
  const int64_t turn = epoch * files + place;
  const int64_t rows = files_[FileOfTurn(turn)].rows;
  int64_t row = position - (*it - rows);
  // Even keys belong to permutations of files, odd keys to permutations of rows.
  if (options_.shuffle)
    row = Permutation(random_, static_cast<uint64_t>(turn) * 2 + 1, rows).At(row);
  return {turn, row};
}

Hdf5Rows::Loaded Hdf5Rows::ReadTurn(int64_t turn) const {
  const File& listed = files_[FileOfTurn(turn)];
  const Hdf5File file(listed.path);
  Loaded loaded;
  loaded.turn = turn;
  for (size_t i = 0; i < tops_.size(); ++i) {
    loaded.tops.push_back(file.Read(tops_[i]));
    const int64_t wanted = listed.rows * row_shapes_[i].count();
    if (static_cast<int64_t>(loaded.tops.back().size()) == wanted) continue;
    throw FileError("data set '" + tops_[i] + "' of '" + listed.path +
                    "' has changed its size since the start");
  }
  return loaded;
}

void Hdf5Rows::Load(int64_t turn) {
  if (current_.turn == turn) return;
  if (files_.size() == 1 && current_.turn >= 0) {  // keep the only file loaded
    current_.turn = turn;
    return;
  }
  Loaded ahead;
  if (ahead_.valid()) ahead = ahead_.get();
  current_ = ahead.turn == turn ? std::move(ahead) : ReadTurn(turn);
  if (files_.size() > 1) {
    ahead_ = std::async(std::launch::async, [this, turn] { return ReadTurn(turn + 1); });
  }
}

void Hdf5Rows::Next(const std::vector<float*>& tops) {
  DOPPIO_CHECK(tops.size() == tops_.size(), "tops");
  for (int64_t i = 0; i < options_.batch; ++i) {
    const Place place = Find(next_sample_ + i);
    Load(place.turn);
    for (size_t t = 0; t < tops.size(); ++t) {
      const int64_t count = row_shapes_[t].count();
      const float* from = current_.tops[t].data() + place.row * count;
      std::copy(from, from + count, tops[t] + i * count);
    }
  }
  next_sample_ += int64_t{options_.batch} * options_.world;
}

}  // namespace doppio
