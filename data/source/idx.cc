// Reads MNIST's own files, compressed or not: images "train-images-idx3-ubyte" and labels
// "train-labels-idx1-ubyte". The format is two zero bytes, the type (8: unsigned bytes), the rank,
// big-endian extents, and the values. `size` in data_param selects the first or last records.
#include <algorithm>
#include <vector>

#include "core/base/checked_product.h"
#include "core/base/content/content_kind.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "data/decode/gzip.h"
#include "data/record/source.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

struct IdxFile {
  std::vector<int64_t> extents;  // outermost first
  std::string content;
  size_t begin = 0;  // offset of the values in content

  const uint8_t* values() const { return reinterpret_cast<const uint8_t*>(content.data()) + begin; }
  int64_t rows() const { return extents[0]; }
};

IdxFile ReadIdx(const std::string& path) {
  IdxFile file;
  file.content = ReadMaybeGzip(path);
  const std::string& content = file.content;
  auto byte = [&content](size_t i) { return static_cast<uint8_t>(content[i]); };
  if (content.size() < 4 || byte(0) != 0 || byte(1) != 0 || byte(3) < 1 || byte(3) > 4) {
    const std::string found = DescribeContent(content);
    throw FileError("'", path, "' is not an IDX file: ",
                    found.empty() ? "its first four bytes are no IDX magic number" : found);
  }
  if (byte(2) != 8) {
    throw FileError("'", path, "' holds values of IDX type ", byte(2),
                    "; only type 8, unsigned bytes, is read");
  }
  file.begin = 4 + 4 * size_t{byte(3)};
  if (content.size() >= file.begin) {
    for (size_t at = 4; at < file.begin; at += 4) {
      file.extents.push_back(int64_t{byte(at)} << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 |
                             byte(at + 3));
    }
  }
  const int64_t found = static_cast<int64_t>(content.size()) - static_cast<int64_t>(file.begin);
  const std::optional<int64_t> expected = file.extents.empty() ? 0 : CheckedProduct(file.extents);
  if (found < 0 || found != expected) {
    const bool cut = !expected || found < *expected;
    throw FileError(
        "IDX file '", path, "' is ", cut ? "cut short" : "too long", ": ",
        std::max<int64_t>(found, 0), " bytes of values, its header says ",
        expected ? std::to_string(*expected) : "more than " + std::to_string(kMaxElements));
  }
  if (found == 0) throw FileError("IDX file '", path, "' is empty");
  return file;
}

// Returns the labels' file of an images' file: "x/train-images-idx3-ubyte.gz" ->
// "x/train-labels-idx1-ubyte.gz". If only the compressed or only the uncompressed file exists,
// returns that one. Throws UserError if the name does not follow MNIST's pattern.
std::string SiblingWithLabels(const std::string& images) {
  const std::string folder = DirName(images);
  std::string name = images.substr(folder.size());
  auto swap = [&name](const std::string& from, const std::string& to) {
    const size_t at = name.find(from);
    if (at == std::string::npos) return false;
    name.replace(at, from.size(), to);
    return true;
  };
  const bool renamed = swap("images", "labels");
  RefuseIf(!renamed || !(swap("idx3", "idx1") || swap("idx2", "idx1") || swap("idx4", "idx1")),
           "data_param: the labels of '", images,
           "' cannot be found by its name (...images-idx3...); name them: labels: \"FILE\", or "
           "give both files to 'doppio convert_mnist_data'");
  const std::string gz = ".gz";
  std::string path = folder + name;
  if (FileExists(path)) return path;
  const std::string other =
      EndsWith(path, gz) ? path.substr(0, path.size() - gz.size()) : path + gz;
  return FileExists(other) ? other : path;
}

class IdxSource : public Source {
 public:
  IdxSource(const DataParameter& parameter, Phase phase)
      : path_(parameter.source()), images_(ReadIdx(path_)) {
    if (images_.extents.size() == 1 && parameter.labels_size() == 0) {
      throw FileError("'", path_, "' holds labels; name the IDX file of their images");
    }
    std::vector<std::string> paths(parameter.labels().begin(), parameter.labels().end());
    if (paths.empty()) {
      paths.push_back(SiblingWithLabels(path_));
      RefusePipe(paths[0], "the labels of an IDX file");
    }
    for (const std::string& path : paths) {
      labels_.push_back(ReadIdx(path));
      const IdxFile& labels = labels_.back();
      if (labels.extents.size() != 1)
        throw FileError("'", path, "' is an IDX file, but not of labels");
      if (labels.rows() != images_.rows()) {
        throw FileError("'", path, "' has ", labels.rows(), " labels, but '", path_, "' has ",
                        images_.rows(), " images");
      }
    }
    std::vector<int64_t> extents(images_.extents.begin() + 1, images_.extents.end());
    // Treat rows x columns as one channel, and a vector per row as channels, as Caffe does.
    if (extents.size() == 2) extents.insert(extents.begin(), 1);
    extents.resize(3, 1);
    if (*std::max_element(extents.begin(), extents.end()) > INT32_MAX) {
      throw FileError("IDX file '", path_, "' has images of an extent above ", INT32_MAX);
    }
    shape_ = {static_cast<int>(extents[0]), static_cast<int>(extents[1]),
              static_cast<int>(extents[2])};
    SelectRecords(parameter, phase);
  }

  int64_t size() const override { return size_; }

  void Read(int64_t index, Record* record) const override {
    const int64_t row = first_ + index;
    record->pixels = {shape_, images_.values() + row * shape_.count(), nullptr, false};
    record->encoded = nullptr;
    record->labels.clear();
    for (const IdxFile& labels : labels_) record->labels.push_back(labels.values()[row]);
  }

  std::string Name(int64_t index) const override {
    return "image " + std::to_string(first_ + index) + " of '" + path_ + "'";
  }

 private:
  void SelectRecords(const DataParameter& parameter, Phase phase) {
    size_ = images_.rows();
    if (parameter.size() == 0) return;
    RefuseIf(parameter.size() > size_, "data_param: size is ", parameter.size(), ", but '", path_,
             "' has only ", size_, " records; set size to at most this number, or remove it");
    const bool last =
        parameter.has_part() ? parameter.part() == DataParameter::TEST : phase == TEST;
    first_ = last ? size_ - parameter.size() : 0;
    size_ = parameter.size();
  }

  const std::string path_;
  const IdxFile images_;
  std::vector<IdxFile> labels_;
  ImageShape shape_;
  int64_t first_ = 0;  // row of record 0
  int64_t size_ = 0;   // number of records
};

// The usual images are MNIST's.
DeclaredFacts DeclareIdx(const DataParameter&) {
  DeclaredFacts declared;
  declared.facts.image = {1, 28, 28};
  declared.sure = false;
  return declared;
}

DOPPIO_REGISTER(Sources, "IDX", {&OpenAs<IdxSource>, true, &DeclareIdx});

}  // namespace
}  // namespace doppio
