// The source of layers ImageSegData, DenseImageData and ImageLabelmapData: images, each with an
// image of labels, one label for all pixels, or no labels.
#include <algorithm>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/content/text_file.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/text/whole_number.h"
#include "data/decode/decode_formats.h"
#include "data/decode/decoding.h"
#include "data/decode/label_image.h"
#include "data/decode/mat_image.h"
#include "data/pipeline/read_into.h"
#include "data/record/path_lines.h"
#include "data/source/open_source.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

using LabelType = ImageDataParameter::LabelType;

constexpr int kMostLabel = 255;  // labels travel in bytes

struct ImagePair {
  std::string image, labels;  // the paths in the list; no labels except for LabelType PIXEL
  int label = -1;             // that of all pixels, for LabelType IMAGE
  int line = 0;               // from 1
};

// Describes a line of a list.
std::string LineOf(LabelType type) {
  if (type == ImageDataParameter::NONE) return "the path of an image";
  if (type == ImageDataParameter::IMAGE) return "the path of an image and a label from 0 to 255";
  return "the path of an image and that of its image of labels";
}

// Reads a line that is not empty.
ImagePair ReadPair(const std::string& line, const std::string& root, LabelType type,
                   const SourceLoc& at) {
  ImagePair pair;
  pair.line = at.line;
  if (type == ImageDataParameter::PIXEL) {
    std::tie(pair.image, pair.labels) = TwoPathsIn(line, root, at, LineOf(type));
    return pair;
  }
  std::vector<std::string> words = WordsOf(line);
  size_t end = line.size();
  bool complete = true;
  if (type == ImageDataParameter::IMAGE) {
    const auto label = ParseWholeNumber(words.back());
    complete = words.size() > 1 && label && *label <= kMostLabel;
    pair.label = complete ? static_cast<int>(*label) : -1;
    end -= words.back().size();
    words.pop_back();
  }
  pair.image = WithoutBlanks(line.substr(0, end));
  if (!complete || (words.size() > 1 && !FileExists(root + pair.image)))
    throw FileError(at, "each line is ", LineOf(type));
  return pair;
}

std::vector<ImagePair> ReadPairs(const std::string& list, const std::string& root, LabelType type) {
  std::vector<ImagePair> pairs;
  SourceLoc at = {list, 0, 0};
  for (const std::string& line : ReadLines(list, "a list of images, one image per line,")) {
    ++at.line;
    if (!line.empty()) pairs.push_back(ReadPair(line, root, type, at));
  }
  if (pairs.empty()) throw FileError("the image list '", list, "' is empty");
  return pairs;
}

class ImagePairsSource : public Source {
 public:
  ImagePairsSource(const ImageDataParameter& parameter, const TransformationParameter& transform,
                   bool edges, const Random& random)
      : list_(parameter.source()),
        root_(parameter.root_folder()),
        height_(static_cast<int>(parameter.new_height())),
        width_(static_cast<int>(parameter.new_width())),
        label_type_(parameter.label_type()),
        edges_(edges),
        ignore_label_(static_cast<double>(transform.ignore_label())),
        fill_(MeanFill(transform, parameter.is_color() ? 3 : 1)),
        factors_(transform.scale_factors().begin(), transform.scale_factors().end()),
        random_(random) {
    RefuseIf((height_ > 0) != (width_ > 0), "set both new_height and new_width, or neither");
    RefuseIf(ignore_label_ > kMostLabel,
             "transform_param: ignore_label must be at most 255, as the labels of images");
    const bool rectangular = transform.crop_h() > 0;
    crop_height_ = static_cast<int>(rectangular ? transform.crop_h() : transform.crop_size());
    crop_width_ = static_cast<int>(rectangular ? transform.crop_w() : transform.crop_size());
    CheckDecoding(transform);
    SetDecoding(DecodingOf(transform), &colour_);
    colour_.set_force_color(parameter.is_color());
    colour_.set_force_gray(!parameter.is_color());
    gray_.set_force_gray(true);
    pairs_ = ReadPairs(list_, root_, label_type_);
  }

  int64_t size() const override { return static_cast<int64_t>(pairs_.size()); }
  bool decodes() const override { return true; }

  std::string Name(int64_t index) const override {
    const ImagePair& pair = pairs_[index];
    return "image '" + root_ + pair.image + "' (" + list_ + ":" + std::to_string(pair.line) + ")";
  }

  void Read(int64_t index, Record* record) const override { ReadScaled(index, 1, record); }

  void ReadSample(int64_t index, uint64_t sample, Record* record) const override {
    const auto count = static_cast<uint32_t>(factors_.size());
    ReadScaled(index, count == 0 ? 1 : factors_[random_.Below(count, sample, 0)], record);
  }

  void Join(const Random& random) override { random_ = random; }

 private:
  void ReadScaled(int64_t index, float factor, Record* record) const {
    const ImagePair& pair = pairs_[index];
    ReadFileOf(pair.image, record);
    record->decode = DecodingOf(colour_);
    Image image = ImageOfRecord(record, colour_);
    Image labels = LabelsOf(pair, image.shape, record);
    const int height = Scaled(height_ > 0 ? height_ : image.shape.height, factor);
    const int width = Scaled(width_ > 0 ? width_ : image.shape.width, factor);
    if (height != image.shape.height || width != image.shape.width) {
      CheckPixels(height, width, "it would be resized to");
      ResizeTo(height, width, cv::INTER_LINEAR, &image);
      // The mean of two labels is no label.
      ResizeTo(height, width, cv::INTER_NEAREST, &labels);
    }
    Extend(fill_, &image);
    Extend(cv::Scalar(ignore_label_), &labels);
    Join(&image, &labels, record);
    const auto within = [](int extent, int crop) {
      return static_cast<float>(crop > 0 ? std::min(extent, crop) : extent);
    };
    record->labels = {within(height, crop_height_), within(width, crop_width_)};
  }

  // Rounds down, as PSPNet's Caffe does.
  static int Scaled(int extent, float factor) {
    return std::max(1, static_cast<int>(static_cast<float>(extent) * factor));
  }

  static std::string Size(const ImageShape& shape) {
    return std::to_string(shape.height) + "x" + std::to_string(shape.width);
  }

  void ReadFileOf(const std::string& path, Record* record) const {
    record->decode = DecodeOptions();
    record->encoded_bytes = ReadInto(root_ + path, &record->byte_storage);
    record->encoded = reinterpret_cast<const uint8_t*>(record->byte_storage.data());
  }

  static void ResizeTo(int height, int width, int interpolation, Image* image) {
    cv::Mat resized;
    cv::resize(MatOf(image), resized, cv::Size(width, height), 0, 0, interpolation);
    *image = ImageOf(resized);
  }

  // Returns the labels of an image of this shape.
  Image LabelsOf(const ImagePair& pair, const ImageShape& image, Record* record) const {
    if (label_type_ != ImageDataParameter::PIXEL) {
      const double label = pair.label >= 0 ? pair.label : ignore_label_;
      return ImageOf(cv::Mat(image.height, image.width, CV_8UC1, cv::Scalar(label)));
    }
    ReadFileOf(pair.labels, record);
    Image labels = DecodedLabels(pair, record);
    if (labels.shape.height != image.height || labels.shape.width != image.width) {
      throw FileError("its image of labels '", root_, pair.labels, "' is ", Size(labels.shape),
                      " pixels, the image is ", Size(image));
    }
    return labels;
  }

  // Edges are light or dark, so JPEGs and scaled values do no harm.
  Image DecodedLabels(const ImagePair& pair, Record* record) const {
    try {
      if (edges_) return ImageOfRecord(record, gray_);
      record->remarks.lossy_labels =
          FormatOf(record->encoded, record->encoded_bytes) == ImageFormat::kJpeg;
      return DecodeLabels(record->encoded, record->encoded_bytes);
    } catch (const Error& e) {
      RethrowWithContext(e, {}, "its image of labels '" + root_ + pair.labels + "'");
    }
  }

  // Extends the image to the right and to the bottom until the crop fits.
  void Extend(const cv::Scalar& fill, Image* image) const {
    const int rows = std::max(0, crop_height_ - image->shape.height);
    const int columns = std::max(0, crop_width_ - image->shape.width);
    if (rows == 0 && columns == 0) return;
    cv::Mat extended;
    cv::copyMakeBorder(MatOf(image), extended, 0, rows, 0, columns, cv::BORDER_CONSTANT, fill);
    *image = ImageOf(extended);
  }

  // Makes the record of the planes of both images.
  static void Join(Image* image, Image* labels, Record* record) {
    const ImageShape& shape = image->shape;
    const int64_t plane = int64_t{shape.height} * shape.width;
    std::string joined(static_cast<size_t>((shape.channels + 1) * plane), '\0');
    std::vector<cv::Mat> planes;
    for (int c = 0; c <= shape.channels; ++c) {
      planes.emplace_back(shape.height, shape.width, CV_8UC1, joined.data() + c * plane);
    }
    MatOf(labels).copyTo(planes.back());
    planes.pop_back();
    cv::split(MatOf(image), planes);
    record->byte_storage = std::move(joined);
    record->encoded = nullptr;
    record->pixels = {{shape.channels + 1, shape.height, shape.width},
                      reinterpret_cast<const uint8_t*>(record->byte_storage.data()),
                      nullptr,
                      false};
  }

  const std::string list_, root_;
  const int height_, width_;
  const LabelType label_type_;
  const bool edges_;
  const double ignore_label_;
  const cv::Scalar fill_;
  const std::vector<float> factors_;
  Random random_;
  int crop_height_ = 0, crop_width_ = 0;
  TransformationParameter colour_, gray_;
  std::vector<ImagePair> pairs_;
};

}  // namespace

std::unique_ptr<Source> OpenImagePairs(const ImageDataParameter& parameter,
                                       const TransformationParameter& transform, bool edges,
                                       const Random& random) {
  RefuseIf(!parameter.has_source(), "needs a source, a list of images");
  return std::make_unique<ImagePairsSource>(parameter, transform, edges, random);
}

}  // namespace doppio
