#include "tools/detect/fitted_image.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/file.h"
#include "data/annotation/scaled_sides.h"
#include "data/augment/preprocessing.h"

namespace doppio {

ImageFitter::ImageFitter(const Preprocessing& record, const ImageShape& input, const ImageFit& fit)
    : record_(record), input_(input), fit_(fit) {
  ClearSizes(&record_);
}

FittedImage ImageFitter::Read(const std::string& path) const {
  FittedImage fitted;
  try {
    Image image = DecodeFor(record_, input_.channels, ReadFile(path));
    Fit(&image, &fitted);
  } catch (const FileError& e) {
    fitted.mistake = e.message();
  }
  return fitted;
}

void ImageFitter::Fit(Image* image, FittedImage* fitted) const {
  const ImageShape& input = input_;
  fitted->input = input;
  const int height = fitted->height = image->shape.height;
  const int width = fitted->width = image->shape.width;
  ScaledSides size = {input.height, input.width, 1};
  if (fit_.kind == ImageFit::kPad) {
    size = ScaleBy(height, width,
                   std::min(double{1} * input.height / height, double{1} * input.width / width));
  } else if (fit_.kind == ImageFit::kScale) {
    size = ScaleShortSide(height, width, fit_.short_side, fit_.max_side);
  }
  fitted->rows = size.height;
  fitted->columns = size.width;
  fitted->scale = size.scale;
  const ImageShape part = {input.channels, fitted->rows, fitted->columns};
  std::vector<float> values = NetInput(record_, part).Convert(image);
  if (fit_.kind == ImageFit::kScale) fitted->input = part;
  if (fit_.kind != ImageFit::kPad || part == input) {
    fitted->values = std::move(values);
    return;
  }
  fitted->values.assign(input.count(), 0);
  for (int64_t row = 0; row < int64_t{input.channels} * fitted->rows; ++row) {
    const int64_t channel = row / fitted->rows, y = row % fitted->rows;
    std::copy_n(values.data() + row * fitted->columns, fitted->columns,
                fitted->values.data() + (channel * input.height + y) * input.width);
  }
}

PixelBox InsideImage(const PixelBox& box, int height, int width) {
  const auto within = [](double x, double most) { return std::max(0.0, std::min(x, most)); };
  return {within(box[0], width), within(box[1], height), within(box[2], width),
          within(box[3], height)};
}

}  // namespace doppio
