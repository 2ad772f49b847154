// Reads the binary files of CIFAR-10 (a label byte and 3x32x32 pixels per record) and of CIFAR-100
// (a coarse and a fine label byte, of which the fine one is used). `source` is a file, a file name
// pattern, or the folder of the distribution. Planes stay in the files' order red, green, blue, as
// in the databases that Caffe's conversion writes.
#include <vector>

#include "core/base/content/content_kind.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "data/source/class_names.h"
#include "data/record/source.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

constexpr int64_t kPixels = 3 * 32 * 32;

std::vector<std::string> FindFiles(const DataParameter& parameter, Phase phase) {
  const std::string& source = parameter.source();
  std::vector<std::string> files;
  if (FileExists(source + "/.")) {
    const bool test =
        parameter.has_part() ? parameter.part() == DataParameter::TEST : phase == TEST;
    for (const char* pattern : test ? std::vector<const char*>{"/test_batch.bin", "/test.bin"}
                                    : std::vector<const char*>{"/data_batch_*.bin", "/train.bin"}) {
      for (const std::string& file : Glob(source + pattern)) {
        RefusePipe(file, "a file of CIFAR's folder");
        if (FileExists(file)) files.push_back(file);
      }
    }
    if (files.empty()) {
      throw FileError(
          "folder '", source, "' has none of CIFAR's binary files for ",
          test ? "testing: test_batch.bin or test.bin" : "training: data_batch_*.bin or train.bin");
    }
    return files;
  }
  files = Glob(source);
  if (files.empty()) throw FileError("no file matches '", source, "'");
  return files;
}

class CifarSource : public Source {
 public:
  CifarSource(const DataParameter& parameter, Phase phase) {
    for (const std::string& path : FindFiles(parameter, phase)) {
      files_.push_back({path, ReadFile(path), size_});
      const int64_t bytes = static_cast<int64_t>(files_.back().content.size());
      int64_t label_bytes = 0;
      if (bytes > 0 && bytes % (1 + kPixels) == 0) label_bytes = 1;
      if (bytes > 0 && label_bytes == 0 && bytes % (2 + kPixels) == 0) label_bytes = 2;
      if (label_bytes == 0) {
        const std::string found = DescribeContent(files_.back().content);
        throw FileError("'", path, "' is not a whole CIFAR binary file: ",
                        found.empty()
                            ? "its " + std::to_string(bytes) +
                                  " bytes are not a multiple of 3073 (CIFAR-10) or 3074 (CIFAR-100)"
                            : found);
      }
      if (label_bytes_ != 0 && label_bytes != label_bytes_) {
        throw FileError("'", path, "' and '", files_.front().path,
                        "' are of different kinds: one CIFAR-10, one CIFAR-100");
      }
      label_bytes_ = label_bytes;
      size_ += bytes / (label_bytes + kPixels);
    }
  }

  int64_t size() const override { return size_; }

  void Read(int64_t index, Record* record) const override {
    const File& file = FileOf(index);
    const uint8_t* at = reinterpret_cast<const uint8_t*>(file.content.data()) +
                        (index - file.first) * (label_bytes_ + kPixels);
    record->labels.assign(1, at[label_bytes_ - 1]);
    record->pixels = {{3, 32, 32}, at + label_bytes_, nullptr, false};
    record->encoded = nullptr;
  }

  std::string Name(int64_t index) const override {
    const File& file = FileOf(index);
    return "image " + std::to_string(index - file.first) + " of '" + file.path + "'";
  }

  SourceFacts facts() const override {
    SourceFacts facts;
    facts.channels = Preprocessing::RGB;
    facts.class_names = FindClassNames(
        DirName(files_.front().path),
        {label_bytes_ == 1 ? "batches.meta.txt" : "fine_label_names.txt", "labels.txt"});
    return facts;
  }

 private:
  struct File {
    std::string path, content;
    int64_t first;  // index of its first record
  };

  const File& FileOf(int64_t index) const {
    size_t i = files_.size() - 1;
    while (files_[i].first > index) --i;
    return files_[i];
  }

  std::vector<File> files_;
  int64_t size_ = 0;
  int64_t label_bytes_ = 0;
};

DeclaredFacts DeclareCifar(const DataParameter&) {
  DeclaredFacts declared;
  declared.facts.image = {3, 32, 32};
  declared.facts.channels = Preprocessing::RGB;
  return declared;
}

DOPPIO_REGISTER(Sources, "CIFAR", {&OpenAs<CifarSource>, true, &DeclareCifar});

}  // namespace
}  // namespace doppio
