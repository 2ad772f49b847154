#include <algorithm>

#include "data/decode/decode_formats.h"
#include "data/decode/jpeg_reader.h"

namespace doppio {
namespace {

// Converts four bytes per pixel to three, in place. Photo editors store inks inverted; OpenCV
// assumes inverted inks in every file, and rounds in this way.
void CmykRowToBgr(uint8_t* row, int width) {
  for (int x = 0; x < width; ++x) {
    const uint8_t* light = row + 4 * x;
    uint8_t* out = row + 3 * x;
    const int k = light[3];
    uint8_t bgr[3];
    for (int i = 0; i < 3; ++i) {
      bgr[2 - i] = static_cast<uint8_t>(k - (((255 - light[i]) * k) >> 8));
    }
    std::copy(bgr, bgr + 3, out);
  }
}

}  // namespace

void DecodeJpeg(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image) {
  JpegReader reader(file, bytes);
  if (options.scaled) reader.ScaleTo(options.height, options.width);
  const int height = reader.height(), width = reader.width();
  const bool cmyk = reader.components() == 4;
  const bool gray = !cmyk && reader.ChannelsFor(options.color) == 1;
  reader.Start(cmyk ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_EXT_BGR, {0, height, 0, width});
  image->shape = {gray ? 1 : 3, height, width};
  const size_t row_bytes = static_cast<size_t>(width) * image->shape.channels;
  // Four inks are decoded in place of three colours, so a row reaches into the next one. The last
  // row needs one spare byte per pixel.
  image->bytes.resize(row_bytes * height + (cmyk ? static_cast<size_t>(width) : 0));
  for (int y = 0; y < height; ++y) {
    uint8_t* row = image->bytes.data() + row_bytes * y;
    reader.ReadRow(row);
    if (cmyk) CmykRowToBgr(row, width);
  }
  reader.Finish();
  image->bytes.resize(row_bytes * height);
  if (cmyk && options.color == DecodeOptions::Color::kGray) MakeGray(image);
}

}  // namespace doppio
