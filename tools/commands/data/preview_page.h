// The page of `data preview`: images with their labels, file names and boxes.
#ifndef DOPPIO_TOOLS_COMMANDS_DATA_PREVIEW_PAGE_H_
#define DOPPIO_TOOLS_COMMANDS_DATA_PREVIEW_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/decode/decode.h"
#include "data/record/boxes.h"

namespace doppio {

struct PreviewFigure {
  std::string name;  // Source::Name
  ImageShape shape;
  std::string url;  // data URL of the image
  std::string label;
  std::vector<ObjectBox> objects;
};

// Returns a data URL with an image as PNG, or with an image file.
std::string DataUrl(const Image& image);
std::string DataUrl(ImageFormat format, const std::string& file);

// Returns the class that labels name, or their numbers.
std::string LabelText(const std::vector<float>& labels, const std::vector<std::string>& classes);

// Returns the figure as HTML. `classes` are the names of the objects.
std::string FigureHtml(const PreviewFigure& figure, const std::vector<std::string>& classes);
// Returns the figure of an image that cannot be read.
std::string BadFigureHtml(const std::string& name, const std::string& mistake);

// Returns the whole page. `note` is a line above the figures.
std::string PreviewPageHtml(const std::string& title, const std::string& note,
                            const std::string& figures);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_COMMANDS_DATA_PREVIEW_PAGE_H_
