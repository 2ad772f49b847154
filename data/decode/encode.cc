#include "data/decode/encode.h"

#include <png.h>

// jpeglib.h needs the headers included before it.
// clang-format off
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <jpeglib.h>
// clang-format on

#include "core/base/error.h"

namespace doppio {
namespace {

// By default libjpeg exits the program on an error. OnJpegError leaves its C code by longjmp
// instead, and EncodeJpeg throws afterwards.
struct JpegErrors {
  jpeg_error_mgr base;  // must come first: libjpeg sees only this part
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

void OnJpegError(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->escape, 1);
}

// All data here is plain C data or owned by the caller, so longjmp skips no destructor.
bool Compress(const Image& image, int quality, JpegErrors* errors, jpeg_compress_struct* info,
              unsigned char** file, unsigned long* bytes) {
  if (setjmp(errors->escape) != 0) return false;
  jpeg_create_compress(info);
  jpeg_mem_dest(info, file, bytes);
  info->image_height = static_cast<JDIMENSION>(image.shape.height);
  info->image_width = static_cast<JDIMENSION>(image.shape.width);
  info->input_components = image.shape.channels;
  info->in_color_space = image.shape.channels == 1 ? JCS_GRAYSCALE : JCS_EXT_BGR;
  jpeg_set_defaults(info);
  jpeg_set_quality(info, quality, TRUE);
  jpeg_start_compress(info, TRUE);
  const size_t row_bytes = size_t{info->image_width} * image.shape.channels;
  for (int y = 0; y < image.shape.height; ++y) {
    auto* row = const_cast<uint8_t*>(image.bytes.data() + row_bytes * y);
    jpeg_write_scanlines(info, &row, 1);
  }
  jpeg_finish_compress(info);
  return true;
}

std::string EncodeJpeg(const Image& image, int quality) {
  JpegErrors errors = {};
  jpeg_compress_struct info = {};
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = OnJpegError;
  unsigned char* file = nullptr;
  unsigned long bytes = 0;
  const bool whole = Compress(image, quality, &errors, &info, &file, &bytes);
  jpeg_destroy_compress(&info);
  // Until it finishes, libjpeg does not report the address of a buffer that it has enlarged. After
  // an error the buffer is leaked, because `file` may already have been freed.
  if (!whole) throw FileError("cannot be written as JPEG: ", errors.message);
  std::string encoded(reinterpret_cast<const char*>(file), bytes);
  std::free(file);
  return encoded;
}

std::string EncodePng(const Image& image) {
  png_image info = {};
  info.version = PNG_IMAGE_VERSION;
  info.height = static_cast<png_uint_32>(image.shape.height);
  info.width = static_cast<png_uint_32>(image.shape.width);
  info.format = image.shape.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_BGR;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(info);
  std::string encoded(bytes, '\0');
  const int written =
      png_image_write_to_memory(&info, &encoded[0], &bytes, 0, image.bytes.data(), 0, nullptr);
  if (written == 0) throw FileError("cannot be written as PNG: ", info.message);
  encoded.resize(bytes);
  return encoded;
}

}  // namespace

std::string Encode(const Image& image, ImageFormat format, int quality) {
  return format == ImageFormat::kJpeg ? EncodeJpeg(image, quality) : EncodePng(image);
}

}  // namespace doppio
