// The source of layer WindowData: windows drawn at random from a window file, so that fg_fraction
// of them show objects. A sample's number in the run determines whether it shows an object, which
// window it is, and whether it is mirrored. Any number of ranks therefore draws the same windows.
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/file.h"
#include "data/augment/augment.h"
#include "data/augment/mean_file.h"
#include "data/decode/decoding.h"
#include "data/decode/mat_image.h"
#include "data/pipeline/read_into.h"
#include "data/source/open_source.h"
#include "data/source/window_crop.h"
#include "data/source/window_file.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

constexpr int64_t kMillion = 1000000;

WindowShape ShapeOf(const WindowDataParameter& parameter,
                    const TransformationParameter& transform) {
  WindowShape shape;
  shape.size = static_cast<int>(transform.crop_size());
  shape.context_pad = static_cast<int>(parameter.context_pad());
  RefuseIf(shape.size < 1, "transform_param needs a crop_size, to which windows are resized");
  RefuseIf(shape.size <= 2 * shape.context_pad, "context_pad ", shape.context_pad,
           " on each side leaves nothing of crop_size ", shape.size);
  RefuseIf(parameter.crop_mode() != "warp" && parameter.crop_mode() != "square", "crop_mode is '",
           parameter.crop_mode(), "'; it must be 'warp' or 'square'");
  shape.square = parameter.crop_mode() == "square";
  return shape;
}

// The field of transform_param goes before the old one.
ChannelScale ScaleOf(const WindowDataParameter& parameter, TransformationParameter transform) {
  if (!transform.has_scale()) transform.set_scale(parameter.scale());
  return ChannelScale(transform);
}

void CheckTransform(const TransformationParameter& transform) {
  RefuseUnknownTransforms(transform);
  CheckStdValues(transform);
  CheckDecoding(transform);
  RefuseIf(transform.crop_h() > 0 || transform.crop_w() > 0,
           "transform_param: windows become squares; set crop_size instead of crop_h and crop_w");
  RefuseIf(transform.force_color() || transform.force_gray(),
           "transform_param: the window file states the number of channels; remove force_color and "
           "force_gray");
}

class WindowSource : public Source {
 public:
  WindowSource(const WindowDataParameter& parameter, const TransformationParameter& transform,
               const Random& random)
      : shape_(ShapeOf(parameter, transform)),
        root_(parameter.root_folder()),
        decoding_(DecodingOf(transform)),
        mirror_(transform.mirror()),
        scale_(ScaleOf(parameter, transform)),
        random_(random) {
    CheckTransform(transform);
    RefuseIf(!(parameter.fg_fraction() >= 0 && parameter.fg_fraction() <= 1), "fg_fraction is ",
             parameter.fg_fraction(), "; it must be from 0 to 1");
    objects_in_a_million_ = std::llround(parameter.fg_fraction() * kMillion);
    file_ = ReadWindowFile(parameter.source(), parameter.fg_threshold(), parameter.bg_threshold());
    CheckWindows(parameter);
    SetMean(transform);
    scale_.CheckChannels(file_.channels);
    if (parameter.cache_images()) {
      for (const std::string& path : file_.paths) cached_.push_back(ReadListedFile(root_ + path));
    }
  }

  int64_t size() const override { return kEndless; }
  bool decodes() const override { return true; }

  void Read(int64_t sample, Record* record) const override {
    const Window& window = WindowOf(sample);
    const auto image_index = static_cast<size_t>(window.image);
    DecodeOptions options = decoding_;
    options.color =
        file_.channels == 1 ? DecodeOptions::Color::kGray : DecodeOptions::Color::kColor;
    Image image;
    const bool cached = !cached_.empty();
    const std::string& file = cached ? cached_[image_index] : record->byte_storage;
    const size_t bytes =
        cached ? file.size() : ReadInto(root_ + file_.paths[image_index], &record->byte_storage);
    Decode(reinterpret_cast<const uint8_t*>(file.data()), bytes, options, &image);
    record->remarks.narrowed = image.narrowed;
    if (window.x2 >= image.shape.width || window.y2 >= image.shape.height) {
      throw FileError("it reaches beyond the image, which is ", image.shape.width, " wide and ",
                      image.shape.height, " high");
    }
    const bool mirrored = mirror_ && random_.Below(2, static_cast<uint64_t>(sample), 1) == 1;
    const ImageShape shape = {file_.channels, shape_.size, shape_.size};
    record->float_storage.assign(shape.count(), 0);
    const WindowCrop crop = CropOf(window, image.shape.height, image.shape.width, shape_, mirrored);
    if (crop.width > 0) Write(crop, mirrored, &image, record->float_storage.data());
    record->pixels = {shape, nullptr, record->float_storage.data(), false};
    record->labels.assign(1, static_cast<float>(window.label));
  }

  std::string Name(int64_t sample) const override {
    const Window& window = WindowOf(sample);
    return StrCat("window ", window.x1, " ", window.y1, " ", window.x2, " ", window.y2, " of '",
                  root_, file_.paths[window.image], "'");
  }

  SourceFacts facts() const override {
    SourceFacts facts;
    facts.channels = Preprocessing::BGR;
    return facts;
  }

  void Join(const Random& random) override { random_ = random; }
  std::string kind() const override {
    return StrCat("windows ", file_.objects.size(), " ", file_.backgrounds.size(), " ",
                  objects_in_a_million_);
  }

 private:
  void CheckWindows(const WindowDataParameter& parameter) const {
    const std::string in = " in '" + parameter.source() + "'";
    if (objects_in_a_million_ > 0 && file_.objects.empty()) {
      throw FileError("no window overlaps an object by fg_threshold ", parameter.fg_threshold(),
                      " or more", in);
    }
    if (objects_in_a_million_ < kMillion && file_.backgrounds.empty()) {
      throw FileError("no window is background, with an overlap less than bg_threshold ",
                      parameter.bg_threshold(), ",", in);
    }
  }

  // Sets mean_ to the centre of the mean image, or fills each channel's plane with its mean value.
  void SetMean(const TransformationParameter& transform) {
    const int size = shape_.size;
    const ImageShape shape = {file_.channels, size, size};
    const int64_t plane = int64_t{size} * size;
    mean_.assign(shape.count(), 0);
    const int values = transform.mean_value_size();
    RefuseIf(transform.has_mean_file() && values > 0,
             "transform_param: set only one of mean_file and mean_value");
    RefuseIf(values > 1 && values != shape.channels, "transform_param has ", values,
             " mean_value, but the images have ", shape.channels,
             " channels; give one, or one per channel");
    for (int c = 0; values > 0 && c < shape.channels; ++c) {
      std::fill_n(mean_.begin() + c * plane, plane, transform.mean_value(values == 1 ? 0 : c));
    }
    if (!transform.has_mean_file()) return;
    const MeanImage mean = ReadMeanFile(transform.mean_file());
    RefuseIf(mean.shape.channels != shape.channels || mean.shape.height < size ||
                 mean.shape.width < size,
             "the mean '", transform.mean_file(), "' is ", mean.shape.ToString(), "; it must have ",
             shape.channels, " channels and not be smaller than the crop_size ", size);
    const int top = (mean.shape.height - size) / 2, left = (mean.shape.width - size) / 2;
    for (int c = 0; c < shape.channels; ++c) {
      for (int y = 0; y < size; ++y) {
        const int64_t from = (int64_t{c} * mean.shape.height + top + y) * mean.shape.width + left;
        std::copy_n(mean.values.begin() + from, size, mean_.begin() + c * plane + y * size);
      }
    }
  }

  // Returns true if the sample shows an object. Objects are spread evenly, so that a batch of any
  // size has its share.
  bool ShowsObject(int64_t sample) const {
    const int64_t place = sample % kMillion;
    return (place + 1) * objects_in_a_million_ / kMillion >
           place * objects_in_a_million_ / kMillion;
  }

  const Window& WindowOf(int64_t sample) const {
    const std::vector<Window>& windows = ShowsObject(sample) ? file_.objects : file_.backgrounds;
    const auto count = static_cast<uint32_t>(windows.size());
    return windows[random_.Below(count, static_cast<uint64_t>(sample), 0)];
  }

  // Writes the crop of `image` to its place in the square.
  void Write(const WindowCrop& crop, bool mirrored, Image* image, float* to) const {
    const int channels = image->shape.channels;
    Image part = ImageOf(MatOf(image)(cv::Rect(crop.left, crop.top, crop.width, crop.height)));
    Resize(crop.to_height, crop.to_width, &part);
    for (int c = 0; c < channels; ++c) {
      const float scale = scale_.Of(c);
      for (int y = 0; y < crop.to_height; ++y) {
        const int64_t at =
            (int64_t{c} * shape_.size + crop.to_top + y) * shape_.size + crop.to_left;
        const uint8_t* const row = &part.bytes[static_cast<size_t>(y) * crop.to_width * channels];
        for (int x = 0; x < crop.to_width; ++x) {
          const uint8_t pixel = row[(mirrored ? crop.to_width - 1 - x : x) * channels + c];
          to[at + x] = (static_cast<float>(pixel) - mean_[at + x]) * scale;
        }
      }
    }
  }

  const WindowShape shape_;
  const std::string root_;
  const DecodeOptions decoding_;
  const bool mirror_;
  const ChannelScale scale_;
  Random random_;
  int64_t objects_in_a_million_ = 0;
  WindowFile file_;
  std::vector<float> mean_;  // one value per channel and pixel of the square
  // Contents of all image files if cache_images is set; else empty.
  std::vector<std::string> cached_;
};

}  // namespace

std::unique_ptr<Source> OpenWindows(const WindowDataParameter& parameter,
                                    const TransformationParameter& transform,
                                    const Random& random) {
  RefuseIf(!parameter.has_source(), "window_data_param needs a source, a window file");
  return std::make_unique<WindowSource>(parameter, transform, random);
}

}  // namespace doppio
