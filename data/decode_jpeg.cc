// jpeglib.h needs what stands before it.
// clang-format off
#include <csetjmp>
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "core/base/error.h"
#include "data/decode_formats.h"

namespace doppio {
namespace {

// libjpeg ends the program on an error by default. It is C: leave it by longjmp, then throw.
struct ErrorManager {
  jpeg_error_mgr base;  // first: libjpeg knows only this part
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  bool cut_short;
};

void OnError(j_common_ptr info) {
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  info->err->format_message(info, manager->message);
  std::longjmp(manager->escape, 1);
}

// Warnings are common in good data sets (stray bytes before a marker); only missing data is an
// error.
void OnMessage(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) {
    reinterpret_cast<ErrorManager*>(info->err)->cut_short = true;
  }
}

void Ignore(j_common_ptr) {}

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

// Everything here is plain C data or owned by the caller: longjmp skips no destructor.
bool ReadJpeg(jpeg_decompress_struct* info, ErrorManager* manager, const uint8_t* file,
              size_t bytes, DecodeOptions::Color color, Image* image) {
  if (setjmp(manager->escape) != 0) return false;
  jpeg_create_decompress(info);
  jpeg_mem_src(info, file, static_cast<unsigned long>(bytes));  // NOLINT: libjpeg's type
  jpeg_read_header(info, TRUE);
  const bool cmyk = info->num_components == 4;
  const bool gray = color == DecodeOptions::Color::kGray ||
                    (color == DecodeOptions::Color::kAsStored && info->num_components == 1);
  info->out_color_space = cmyk ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_EXT_BGR;
  jpeg_start_decompress(info);
  const int width = static_cast<int>(info->output_width);
  image->shape = {gray && !cmyk ? 1 : 3, static_cast<int>(info->output_height), width};
  const size_t row_bytes = static_cast<size_t>(width) * image->shape.channels;
  // One spare pixel a row: four inks are decoded in place of three colours.
  image->bytes.resize(row_bytes * image->shape.height + (cmyk ? static_cast<size_t>(width) : 0));
  while (info->output_scanline < info->output_height) {
    uint8_t* row = image->bytes.data() + row_bytes * info->output_scanline;
    jpeg_read_scanlines(info, &row, 1);
    if (cmyk) CmykRowToBgr(row, width, info->saw_Adobe_marker != 0);
  }
  jpeg_finish_decompress(info);
  return true;
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

void DecodeJpeg(const uint8_t* file, size_t bytes, DecodeOptions::Color color, Image* image) {
  jpeg_decompress_struct info = {};
  ErrorManager manager = {};
  info.err = jpeg_std_error(&manager.base);
  manager.base.error_exit = OnError;
  manager.base.emit_message = OnMessage;
  manager.base.output_message = Ignore;
  const bool whole = ReadJpeg(&info, &manager, file, bytes, color, image);
  jpeg_destroy_decompress(&info);
  if (!whole) throw FileError(std::string("corrupt JPEG image: ") + manager.message);
  if (manager.cut_short) throw FileError("corrupt JPEG image: it ends too early");
  if (color == DecodeOptions::Color::kGray && image->shape.channels == 3) BgrToGray(image);
}

}  // namespace doppio
