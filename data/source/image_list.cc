// The source of layer ImageData: a list of image files.
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "data/pipeline/read_into.h"
#include "data/source/class_names.h"
#include "data/source/image_lines.h"
#include "data/source/open_source.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

class ImageListSource : public Source {
 public:
  explicit ImageListSource(const ImageDataParameter& parameter)
      : list_(parameter.source()), root_(parameter.root_folder()) {
    decode_.color =
        parameter.is_color() ? DecodeOptions::Color::kColor : DecodeOptions::Color::kGray;
    decode_.height = static_cast<int>(parameter.new_height());
    decode_.width = static_cast<int>(parameter.new_width());
    RefuseIf((decode_.height > 0) != (decode_.width > 0),
             "image_data_param: set both new_height and new_width, or neither");
    decode_.scaled = parameter.scaled_decode();
    RefuseIf(decode_.scaled && decode_.height == 0,
             "image_data_param: scaled_decode needs new_height and new_width");
    lines_ = ReadImageLines(list_);
  }

  ImageListSource(std::vector<ImageLine> lines, const std::string& root, const std::string& list)
      : list_(list), root_(root), lines_(std::move(lines)) {}

  int64_t size() const override { return static_cast<int64_t>(lines_.size()); }

  void Read(int64_t index, Record* record) const override {
    const ImageLine& line = lines_[index];
    record->encoded_bytes = ReadInto(root_ + line.path, &record->byte_storage);
    record->encoded = reinterpret_cast<const uint8_t*>(record->byte_storage.data());
    record->decode = decode_;
    record->labels = line.labels;
  }

  std::vector<float> LabelsOf(int64_t index) const override { return lines_[index].labels; }

  std::string Name(int64_t index) const override {
    const ImageLine& line = lines_[index];
    const std::string image = "image '" + root_ + line.path + "'";
    return list_.empty() ? image : image + " (" + list_ + ":" + std::to_string(line.number) + ")";
  }

  // `data split` writes labels.txt next to its lists.
  SourceFacts facts() const override {
    SourceFacts facts;
    if (!list_.empty()) facts.class_names = FindClassNames(DirName(list_), {"labels.txt"});
    return facts;
  }

 private:
  const std::string list_, root_;
  DecodeOptions decode_;
  std::vector<ImageLine> lines_;
};

}  // namespace

std::unique_ptr<Source> OpenImageLines(std::vector<ImageLine> lines, const std::string& root,
                                       const std::string& list) {
  return std::make_unique<ImageListSource>(std::move(lines), root, list);
}

std::unique_ptr<Source> OpenImageList(const ImageDataParameter& parameter) {
  RefuseIf(!parameter.has_source(), "image_data_param needs a source");
  return std::make_unique<ImageListSource>(parameter);
}

}  // namespace doppio
