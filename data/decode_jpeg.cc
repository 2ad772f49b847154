#include "data/decode_formats.h"
#include "data/jpeg_reader.h"

namespace doppio {
namespace {

// In place, four bytes to three. With Adobe's marker the inks are stored inverted.
void CmykRowToBgr(uint8_t* row, int width, bool inverted) {
  for (int x = 0; x < width; ++x) {
    const uint8_t* in = row + 4 * x;
    uint8_t* out = row + 3 * x;
    int light[4];
    for (int i = 0; i < 4; ++i) light[i] = inverted ? in[i] : 255 - in[i];
    const int k = light[3];
    for (int i = 0; i < 3; ++i) out[2 - i] = static_cast<uint8_t>((light[i] * k + 127) / 255);
  }
}

void BgrToGray(Image* image) {
  const size_t pixels = static_cast<size_t>(image->shape.height) * image->shape.width;
  for (size_t i = 0; i < pixels; ++i) {
    const uint8_t* bgr = &image->bytes[3 * i];
    image->bytes[i] =
        static_cast<uint8_t>((114 * bgr[0] + 587 * bgr[1] + 299 * bgr[2] + 500) / 1000);
  }
  image->shape.channels = 1;
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
  // One spare pixel a row: four inks are decoded in place of three colours.
  image->bytes.resize(row_bytes * height + (cmyk ? static_cast<size_t>(width) : 0));
  for (int y = 0; y < height; ++y) {
    uint8_t* row = image->bytes.data() + row_bytes * y;
    reader.ReadRow(row);
    if (cmyk) CmykRowToBgr(row, width, reader.has_adobe_marker());
  }
  reader.Finish();
  if (cmyk && options.color == DecodeOptions::Color::kGray) BgrToGray(image);
}

}  // namespace doppio
