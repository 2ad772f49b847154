#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <new>

#include "core/base/error.h"
#include "core/base/file_limits.h"
#include "core/base/library_version.h"
#include "data/decode/decode_formats.h"

namespace doppio {
namespace {

// The state of decoding one file: libpng's structures, and the data of its callbacks.
struct Reading {
  const uint8_t* next;
  size_t left;
  std::jmp_buf escape;
  char message[128];
  png_structp png;
  png_infop info;

  ~Reading() { png_destroy_read_struct(&png, &info, nullptr); }
};

void OnError(png_structp png, png_const_charp message) {
  auto* reading = static_cast<Reading*>(png_get_error_ptr(png));
  std::strncpy(reading->message, message, sizeof reading->message - 1);
  std::longjmp(reading->escape, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void TakeBytes(png_structp png, png_bytep to, size_t bytes) {
  auto* reading = static_cast<Reading*>(png_get_io_ptr(png));
  if (bytes > reading->left) png_error(png, "it ends too early");
  std::memcpy(to, reading->next, bytes);
  reading->next += bytes;
  reading->left -= bytes;
}

// Requests the stored values in bytes, or in two bytes each. Colours become BGR.
void KeepValues(png_structp png) {
  png_set_packing(png);
  png_set_strip_alpha(png);
  png_set_bgr(png);
}

// Replaces values of two bytes by bytes.
void TakeLowBytes(Image* image) {
  const int64_t count = image->shape.count();
  for (int64_t i = 0; i < count; ++i) {
    const int high = image->bytes[2 * i], low = image->bytes[2 * i + 1];
    if (high != 0) throw LabelTooLarge(high << 8 | low, i, image->shape);
    image->bytes[i] = static_cast<uint8_t>(low);
  }
  image->bytes.resize(count);
}

// Requests 8-bit gray or BGR from libpng, whatever the file contains.
void Convert(png_structp png, png_infop info, bool gray) {
  png_set_strip_16(png);
  png_set_expand(png);  // palettes and 1 to 4 bits become bytes, a transparent colour becomes alpha
  png_set_strip_alpha(png);  // drops alpha
  const bool stored_gray = (png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) == 0;
  if (gray && !stored_gray) png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
  if (!gray && stored_gray) png_set_gray_to_rgb(png);
  if (!gray) png_set_bgr(png);
}

// Returns true for a palette with a colour other than a gray.
bool HasColours(png_structp png, png_infop info) {
  png_colorp colours = nullptr;
  int count = 0;
  png_get_PLTE(png, info, &colours, &count);
  return std::any_of(colours, colours + count, [](const png_color& colour) {
    return colour.red != colour.green || colour.green != colour.blue;
  });
}

// Skips all chunks that do not change pixels: texts and profiles may be compressed, and a file may
// have any number of them. The chunks of colour spaces determine the conversion to gray.
void SkipOtherChunks(png_structp png) {
  static const png_byte kKept[] = "cHRM\0gAMA\0iCCP\0sBIT\0sRGB";
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_AS_DEFAULT, kKept, sizeof kKept / 5);
}

// Runs `call` and throws libpng's error. `call` must not own resources, because longjmp skips
// destructors.
template <class F>
void Run(Reading* reading, const F& call) {
  if (setjmp(reading->escape) != 0) {
    throw FileError("corrupt PNG image: ", reading->message);
  }
  call();
}

// Checks the stated lengths of all chunks. libpng would allocate a chunk's stated length before it
// finds that the bytes are missing.
void CheckChunks(const uint8_t* file, size_t bytes) {
  constexpr size_t kSignature = 8, kHeader = 8, kChecksum = 4;  // a header has length and type
  for (size_t at = kSignature; at + kHeader <= bytes;) {
    const uint8_t* const chunk = file + at;
    const size_t length =
        size_t{chunk[0]} << 24 | size_t{chunk[1]} << 16 | size_t{chunk[2]} << 8 | size_t{chunk[3]};
    if (length > bytes - at - kHeader) throw FileError("corrupt PNG image: it ends too early");
    if (std::memcmp(chunk + 4, "IEND", 4) == 0) return;
    at += kHeader + length + kChecksum;
  }
}

// Checks the stated size. A small file may state any size, and missing pixels would only show once
// memory for all pixels has been filled.
void CheckSize(const Reading& reading) {
  const size_t height = png_get_image_height(reading.png, reading.info);
  CheckPixels(static_cast<int64_t>(height), png_get_image_width(reading.png, reading.info));
  if (png_get_rowbytes(reading.png, reading.info) * height / kMaxDeflated > reading.left) {
    throw FileError("corrupt PNG image: it ends too early");
  }
}

DOPPIO_REGISTER(Libraries, "libpng",
                {PNG_LIBPNG_VER_STRING, [] { return std::string(png_get_libpng_ver(nullptr)); }});

}  // namespace

void DecodePng(const uint8_t* file, size_t bytes, DecodeOptions::Color color, Image* image) {
  CheckChunks(file, bytes);
  Reading reading = {};
  reading.next = file;
  reading.left = bytes;
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, OnError, OnWarning);
  if (reading.png != nullptr) reading.info = png_create_info_struct(reading.png);
  if (reading.info == nullptr) throw std::bad_alloc();
  const png_structp png = reading.png;
  const png_infop info = reading.info;
  Run(&reading, [&] {
    png_set_read_fn(png, &reading, TakeBytes);
    SkipOtherChunks(png);
    png_read_info(png, info);
  });
  CheckSize(reading);

  const bool gray = color == DecodeOptions::Color::kGray ||
                    (color == DecodeOptions::Color::kAsStored &&
                     (png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) == 0);
  const bool values = color == DecodeOptions::Color::kValues;
  const bool wide = png_get_bit_depth(png, info) > 8;
  image->palette_as_gray =
      gray && png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE && HasColours(png, info);
  int passes = 0;
  Run(&reading, [&] {
    if (values) {
      KeepValues(png);
    } else {
      Convert(png, info, gray);
    }
    passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
  });
  image->shape = {png_get_channels(png, info), static_cast<int>(png_get_image_height(png, info)),
                  static_cast<int>(png_get_image_width(png, info))};
  const size_t row_bytes = png_get_rowbytes(png, info);
  image->bytes.resize(row_bytes * image->shape.height);
  Run(&reading, [&] {
    for (int pass = 0; pass < passes; ++pass) {
      for (int y = 0; y < image->shape.height; ++y) {
        png_read_row(png, image->bytes.data() + row_bytes * y, nullptr);
      }
    }
    png_read_end(png, nullptr);
  });
  image->narrowed = wide && !values;
  if (wide && values) TakeLowBytes(image);
}

}  // namespace doppio
