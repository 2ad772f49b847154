// `data preview`: writes a self-contained HTML page with images, their labels and the boxes of
// their objects.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/file.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/commands/data/augmented_page.h"
#include "tools/commands/data/preview_page.h"
#include "tools/commands/data/verbs.h"
#include "tools/data/data_opened.h"

namespace doppio {
namespace {

// Converts pixels to bytes. Bytes remain unchanged; floats are scaled so that the minimum becomes
// black and the maximum white.
class ToBytes {
 public:
  explicit ToBytes(const Pixels& pixels) : pixels_(pixels) {
    if (pixels.floats == nullptr) return;
    const auto [low, high] =
        std::minmax_element(pixels.floats, pixels.floats + pixels.shape.count());
    low_ = *low;
    scale_ = *high > *low ? 255 / (*high - *low) : 0;
  }
  uint8_t operator()(int64_t i) const {
    if (pixels_.floats == nullptr) return pixels_.bytes[i];
    return static_cast<uint8_t>(std::lround((pixels_.floats[i] - low_) * scale_));
  }

 private:
  const Pixels& pixels_;
  float low_ = 0, scale_ = 0;
};

// Returns a colour image for three channels, otherwise a gray image of the first channel.
Image ImageOf(const Pixels& pixels, bool rgb) {
  const ImageShape& shape = pixels.shape;
  const int channels = shape.channels == 3 ? 3 : 1;
  Image image;
  image.shape = {channels, shape.height, shape.width};
  image.bytes.resize(image.shape.count());
  const ToBytes byte(pixels);
  const int64_t plane = int64_t{shape.height} * shape.width;
  for (int c = 0; c < channels; ++c) {
    const int from = rgb && channels == 3 ? 2 - c : c;
    for (int64_t i = 0; i < plane; ++i) {
      const int64_t at = pixels.interleaved ? i * shape.channels + from : from * plane + i;
      image.bytes[i * channels + c] = byte(at);
    }
  }
  return image;
}

std::string Figure(const OpenedData& data, int64_t index, bool rgb) {
  Record record;
  PreviewFigure figure;
  figure.name = data.source->Name(index);
  try {
    data.source->Read(index, &record);
    figure.shape = record.pixels.shape;
    if (record.encoded != nullptr) {
      Image image;
      // Reports a damaged file, which a browser would not do.
      Decode(record.encoded, record.encoded_bytes, {}, &image);
      figure.shape = image.shape;
      const ImageFormat format = FormatOf(record.encoded, record.encoded_bytes);
      // Browsers do not support all other formats.
      const bool shown = format == ImageFormat::kJpeg || format == ImageFormat::kPng;
      const auto* file = reinterpret_cast<const char*>(record.encoded);
      figure.url = shown ? DataUrl(format, {file, record.encoded_bytes}) : DataUrl(image);
    } else {
      figure.url = DataUrl(ImageOf(record.pixels, rgb));
    }
    figure.label = LabelText(record.labels, data.classes);
    figure.objects = std::move(record.objects);
    return FigureHtml(figure, data.classes);
  } catch (const FileError& e) {
    return BadFigureHtml(figure.name, e.message());
  }
}

}  // namespace

ExitCode DataPreview(const CommandLine& line, bool* began) {
  AtLeast("count", line.flags.count, 1);
  const std::string path = line.files.size() == 2 ? line.files[1] : "preview.html";
  int64_t count = line.flags.count;
  std::string page;
  if (line.flags.augmented) {
    page = AugmentedPage(line, began);
  } else {
    const OpenedData data = OpenData(line, line.files[0]);
    *began = true;
    count = std::min<int64_t>(count, data.source->size());
    const bool rgb = line.flags.rgb || data.kind == "CIFAR";
    std::string figures;
    for (int64_t i = 0; i < count; ++i) figures += Figure(data, i, rgb);
    page = PreviewPageHtml(line.files[0],
                           Thousands(count) + " of " + Thousands(data.source->size()) + " images",
                           figures);
  }
  WriteFileAtomically(path, page);
  if (line.flags.json) {
    std::cout << JsonText({{"file", path}, {"images", count}}) << '\n';
  } else {
    std::cout << path << " written, " << Thousands(count) << " images\n";
  }
  return ExitCode::kDone;
}

}  // namespace doppio
