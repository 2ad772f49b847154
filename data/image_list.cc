// Layer ImageData's list: lines "path label [label...]". A path may hold spaces: the labels are the
// numbers at the end of the line, as many on each line as on the first.
#include <cctype>
#include <cstdlib>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "data/read_into.h"
#include "data/source.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

bool IsNumber(const std::string& text, float* value) {
  // strtof would also take "nan", "infinity" and hexadecimal, which are more likely to be names.
  const bool starts = std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-' ||
                      text[0] == '+' || text[0] == '.';
  if (!starts || text.find_first_of("xXnN") != std::string::npos) return false;
  char* end = nullptr;
  *value = std::strtof(text.c_str(), &end);
  return *end == '\0';
}

struct Line {
  std::string path;
  std::vector<float> labels;
  int number = 0;
};

// Takes numbers off the end of `text` while something is left for the path.
Line ParseLine(std::string text, const SourceLoc& at) {
  const char* kBlank = " \t\r";
  Line line;
  line.number = at.line;
  for (;;) {
    text.erase(text.find_last_not_of(kBlank) + 1);
    const size_t gap = text.find_last_of(kBlank);
    float label;
    if (gap == std::string::npos || !IsNumber(text.substr(gap + 1), &label)) break;
    line.labels.insert(line.labels.begin(), label);
    text.erase(gap);
  }
  line.path = text.substr(text.find_first_not_of(kBlank));
  if (line.labels.empty()) {
    throw FileError(at, "no label after '" + line.path + "'; each line is: path label [label...]");
  }
  return line;
}

class ImageListSource : public Source {
 public:
  explicit ImageListSource(const ImageDataParameter& parameter)
      : list_(parameter.source()), root_(parameter.root_folder()) {
    decode_.color =
        parameter.is_color() ? DecodeOptions::Color::kColor : DecodeOptions::Color::kGray;
    decode_.height = static_cast<int>(parameter.new_height());
    decode_.width = static_cast<int>(parameter.new_width());
    if ((decode_.height > 0) != (decode_.width > 0)) {
      throw UserError({}, "image_data_param: set both new_height and new_width, or neither");
    }
    decode_.scaled = parameter.scaled_decode();
    if (decode_.scaled && decode_.height == 0) {
      throw UserError({}, "image_data_param: scaled_decode needs new_height and new_width");
    }
    ReadList();
    if (lines_.empty()) throw FileError("the image list '" + list_ + "' is empty");
  }

  int64_t size() const override { return static_cast<int64_t>(lines_.size()); }

  void Read(int64_t index, Record* record) const override {
    const Line& line = lines_[static_cast<size_t>(index)];
    record->encoded_bytes = ReadInto(root_ + line.path, &record->byte_storage);
    record->encoded = reinterpret_cast<const uint8_t*>(record->byte_storage.data());
    record->decode = decode_;
    record->labels = line.labels;
  }

  std::string Name(int64_t index) const override {
    const Line& line = lines_[static_cast<size_t>(index)];
    return "image '" + root_ + line.path + "' (" + list_ + ":" + std::to_string(line.number) + ")";
  }

 private:
  void ReadList() {
    const std::string text = ReadFile(list_);
    SourceLoc at{list_, 0, 0};
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      ++at.line;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      lines_.push_back(ParseLine(line, at));
      const Line& first = lines_.front();
      if (lines_.back().labels.size() != first.labels.size()) {
        throw FileError(at, std::to_string(lines_.back().labels.size()) + " labels, but line " +
                                std::to_string(first.number) + " has " +
                                std::to_string(first.labels.size()));
      }
    }
  }

  const std::string list_, root_;
  DecodeOptions decode_;
  std::vector<Line> lines_;
};

}  // namespace

std::unique_ptr<Source> OpenImageList(const ImageDataParameter& parameter) {
  if (!parameter.has_source()) throw UserError({}, "image_data_param needs a source");
  return std::make_unique<ImageListSource>(parameter);
}

}  // namespace doppio
