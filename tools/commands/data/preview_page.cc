#include "tools/commands/data/preview_page.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/base/file.h"
#include "data/decode/encode.h"
#include "data/record/whole_label.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
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
small { display: block; color: #666; }
.bad { color: #a00; }
b { position: absolute; box-sizing: border-box; border: 1px solid #fff; outline: 1px solid #000; }
</style></head><body>
)";

// Returns elements with the boxes of objects, over an image of `shape` that fills a square of 128
// pixels along its longer side. Their titles are the classes.
std::string BoxesHtml(const PreviewFigure& figure, const std::vector<std::string>& classes) {
  constexpr float kSide = 128;
  const auto height = static_cast<float>(figure.shape.height);
  const auto width = static_cast<float>(figure.shape.width);
  const float scale = kSide / std::max(height, width);
  const float left = (kSide - scale * width) / 2, top = (kSide - scale * height) / 2;
  std::string elements;
  for (const ObjectBox& object : figure.objects) {
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
    elements += "\" title=\"" + HtmlText(LabelText({object.label}, classes)) + "\"></b>";
  }
  return elements;
}

// Returns the file in the name of a record: "a.png" of "image 'x/a.png' (list.txt:1)".
std::string FileIn(const std::string& name) {
  const size_t begin = name.find('\''), end = name.find('\'', begin + 1);
  if (begin == std::string::npos || end == std::string::npos) return "";
  const std::string path = name.substr(begin + 1, end - begin - 1);
  return path.substr(DirName(path).size());
}

}  // namespace

std::string DataUrl(ImageFormat format, const std::string& file) {
  const char* type = format == ImageFormat::kJpeg ? "jpeg" : "png";
  return std::string("data:image/") + type + ";base64," + Base64(file);
}

std::string DataUrl(const Image& image) {
  return DataUrl(ImageFormat::kPng, Encode(image, ImageFormat::kPng));
}

std::string LabelText(const std::vector<float>& labels, const std::vector<std::string>& classes) {
  if (const std::optional<int> label = WholeLabel(labels)) return ClassName(classes, *label);
  std::vector<std::string> texts;
  for (const float label : labels) texts.push_back(Significant(label));
  return Join(texts, " ");
}

std::string FigureHtml(const PreviewFigure& figure, const std::vector<std::string>& classes) {
  constexpr int kSmall = 64;  // images up to this size in pixels are enlarged
  const bool small = figure.shape.height <= kSmall && figure.shape.width <= kSmall;
  return std::string("<figure><img") + (small ? " class=\"small\"" : "") + " alt=\"\" title=\"" +
         HtmlText(figure.name) + ", " + figure.shape.ToString() + "\" src=\"" + figure.url + "\">" +
         BoxesHtml(figure, classes) + "<figcaption>" + HtmlText(figure.label) + "<small>" +
         HtmlText(FileIn(figure.name)) + "</small></figcaption></figure>\n";
}

std::string BadFigureHtml(const std::string& name, const std::string& mistake) {
  return "<figure><figcaption class=\"bad\">" + HtmlText(name) + ": " + HtmlText(mistake) +
         "</figcaption></figure>\n";
}

std::string PreviewPageHtml(const std::string& title, const std::string& note,
                            const std::string& figures) {
  const std::string heading = HtmlText(title);
  return kHead + heading + kStyle + "<h1>" + heading + "</h1>\n<p>" + note + "</p>\n<main>\n" +
         figures + "</main></body></html>\n";
}

}  // namespace doppio
