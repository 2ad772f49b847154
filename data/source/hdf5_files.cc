#include "data/source/hdf5_files.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/content/text_file.h"
#include "core/base/error.h"
#include "data/record/path_lines.h"
#include "data/source/hdf5_file.h"

namespace doppio {

Hdf5Files::Hdf5Files(const std::string& list, const std::vector<std::string>& sets,
                     bool shapes_may_vary)
    : sets_(sets) {
  std::vector<std::string> paths;
  for (const std::string& line : ReadLines(list, "a list of HDF5 files")) {
    for (std::string& path : PathsIn(line)) paths.push_back(std::move(path));
  }
  if (paths.empty()) throw FileError("'", list, "' lists no HDF5 files");
  for (const std::string& path : paths) Add(path, shapes_may_vary);
  if (rows() == 0) throw FileError("the HDF5 files of '", list, "' have no rows");
}

void Hdf5Files::Add(const std::string& path, bool shapes_may_vary) {
  const Hdf5File opened(path);
  File file{path, files_.empty() ? 0 : rows(), 0, {}};
  for (size_t i = 0; i < sets_.size(); ++i) {
    const Shape shape = opened.ShapeOf(sets_[i]);
    const std::string what = "data set '" + sets_[i] + "' of '" + path + "'";
    if (shape.rank() == 0)
      throw FileError(what, " is a single number; its first axis must be rows");
    file.shapes.emplace_back(std::vector<int64_t>(shape.dims().begin() + 1, shape.dims().end()));
    const Shape &now = file.shapes[i], &first = files_.empty() ? now : files_[0].shapes[i];
    const bool same_rank = now.rank() == first.rank();
    if (now != first && !(shapes_may_vary && same_rank)) {
      throw FileError(what, " has rows of ", now.ToString(), ", but in '", files_[0].path,
                      "' they are ", first.ToString(),
                      same_rank ? "; only a batch_size of 1 allows that" : "");
    }
    if (i > 0 && shape[0] != file.rows) {
      throw FileError(what, " has ", shape[0], " rows, but data set '", sets_[0], "' has ",
                      file.rows);
    }
    file.rows = shape[0];
  }
  files_.push_back(std::move(file));
}

bool Hdf5Files::shapes_vary() const {
  return std::any_of(files_.begin(), files_.end(),
                     [this](const File& file) { return file.shapes != files_[0].shapes; });
}

const Hdf5Files::File& Hdf5Files::FileOf(int64_t row) const {
  return *std::prev(std::upper_bound(files_.begin(), files_.end(), row,
                                     [](int64_t at, const File& file) { return at < file.begin; }));
}

Hdf5Files::Values Hdf5Files::Read(const File& file) const {
  const Hdf5File opened(file.path);
  Values values;
  for (size_t i = 0; i < sets_.size(); ++i) {
    values.push_back(opened.Read(sets_[i]));
    if (static_cast<int64_t>(values[i].size()) == file.rows * file.shapes[i].count()) continue;
    throw FileError("data set '", sets_[i], "' of '", file.path,
                    "' has changed its size since the start");
  }
  return values;
}

}  // namespace doppio
