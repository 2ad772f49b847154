// `data preview`: writes a self-contained HTML page with images, their labels and the boxes of
// their objects.
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/file.h"
#include "data/decode/encode.h"
#include "data/source/whole_label.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/commands/data/verbs.h"
#include "tools/data/data_opened.h"
#include "tools/pages/html_text.h"

namespace doppio {
namespace {

constexpr const char* kHead =
    R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>)";
constexpr const char* kStyle =
    R"(</title>
<style>
body { font: 14px sans-serif; margin: 1.5em; color: #222; background: #fff; }
main { display: flex; flex-wrap: wrap; gap: 12px; }
figure { margin: 0; width: 132px; position: relative; }
img { width: 128px; height: 128px; object-fit: contain; background: #ddd; image-rendering: auto;
      image-orientation: none; }
img.small { image-rendering: pixelated; }
figcaption { font-size: 12px; overflow-wrap: anywhere; }
.bad { color: #a00; }
b { position: absolute; box-sizing: border-box; border: 1px solid #fff; outline: 1px solid #000; }
</style></head><body>
)";

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

std::string DataUrl(ImageFormat format, const std::string& file) {
  const char* type = format == ImageFormat::kJpeg ? "jpeg" : "png";
  return std::string("data:image/") + type + ";base64," + Base64(file);
}

std::string DataUrl(const Image& image) {
  return DataUrl(ImageFormat::kPng, Encode(image, ImageFormat::kPng));
}

std::string Labels(const std::vector<float>& labels, const std::vector<std::string>& classes) {
  if (const std::optional<int> label = WholeLabel(labels)) return ClassName(classes, *label);
  std::vector<std::string> texts;
  for (const float label : labels) texts.push_back(Significant(label));
  return Join(texts, " ");
}

// Returns elements with the boxes of the record's objects, over an image of `shape` that fills a
// square of 128 pixels along its longer side. Their titles are the classes.
std::string Boxes(const Record& record, const ImageShape& shape,
                  const std::vector<std::string>& classes) {
  constexpr float kSide = 128;
  const auto height = static_cast<float>(shape.height), width = static_cast<float>(shape.width);
  const float scale = kSide / std::max(height, width);
  const float left = (kSide - scale * width) / 2, top = (kSide - scale * height) / 2;
  std::string elements;
  for (const ObjectBox& object : record.objects) {
    const Box& box = object.box;
    const std::array<std::pair<const char*, float>, 4> style = {{
        {"left", left + box.xmin * scale * width},
        {"top", top + box.ymin * scale * height},
        {"width", box.width() * scale * width},
        {"height", box.height() * scale * height},
    }};
    elements += "<b style=\"";
    for (const auto& [property, pixels] : style)
      elements += std::string(property) + ":" + Fixed(pixels, 1) + "px;";
    elements += "\" title=\"" + HtmlText(Labels({object.label}, classes)) + "\"></b>";
  }
  return elements;
}

std::string Figure(const OpenedData& data, int64_t index, bool rgb) {
  constexpr int kSmall = 64;  // images up to this size in pixels are enlarged
  Record record;
  try {
    data.source->Read(index, &record);
    ImageShape shape = record.pixels.shape;
    std::string url;
    if (record.encoded != nullptr) {
      Image image;
      // Reports a damaged file, which a browser would not do.
      Decode(record.encoded, record.encoded_bytes, {}, &image);
      shape = image.shape;
      const ImageFormat format = FormatOf(record.encoded, record.encoded_bytes);
      // Browsers do not support all other formats.
      const bool shown = format == ImageFormat::kJpeg || format == ImageFormat::kPng;
      const auto* file = reinterpret_cast<const char*>(record.encoded);
      url = shown ? DataUrl(format, {file, record.encoded_bytes}) : DataUrl(image);
    } else {
      url = DataUrl(ImageOf(record.pixels, rgb));
    }
    const bool small = shape.height <= kSmall && shape.width <= kSmall;
    return std::string("<figure><img") + (small ? " class=\"small\"" : "") + " alt=\"\" title=\"" +
           HtmlText(data.source->Name(index)) + ", " + shape.ToString() + "\" src=\"" + url +
           "\">" + Boxes(record, shape, data.classes) + "<figcaption>" +
           HtmlText(Labels(record.labels, data.classes)) + "</figcaption></figure>\n";
  } catch (const FileError& e) {
    return "<figure><figcaption class=\"bad\">" + HtmlText(data.source->Name(index)) + ": " +
           HtmlText(e.message()) + "</figcaption></figure>\n";
  }
}

}  // namespace

ExitCode DataPreview(const CommandLine& line, bool* began) {
  AtLeast("count", line.flags.count, 1);
  const std::string path = line.files.size() == 2 ? line.files[1] : "preview.html";
  const OpenedData data = OpenData(line, line.files[0]);
  *began = true;
  const int64_t count = std::min<int64_t>(line.flags.count, data.source->size());
  const bool rgb = line.flags.rgb || data.kind == "CIFAR";
  const std::string title = HtmlText(line.files[0]);
  std::string page = kHead + title + kStyle + "<h1>" + title + "</h1>\n<p>" + Thousands(count) +
                     " of " + Thousands(data.source->size()) + " images</p>\n<main>\n";
  for (int64_t i = 0; i < count; ++i) page += Figure(data, i, rgb);
  WriteFileAtomically(path, page + "</main></body></html>\n");
  if (line.flags.json) {
    std::cout << JsonText({{"file", path}, {"images", count}}) << '\n';
  } else {
    std::cout << path << " written, " << Thousands(count) << " images\n";
  }
  return ExitCode::kDone;
}

}  // namespace doppio
