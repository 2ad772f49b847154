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

// Replaces values of two bytes by convert(value, index).
template <class Convert>
void TakeWide(Convert convert, Image* image) {
  const int64_t count = image->shape.count();
  for (int64_t i = 0; i < count; ++i) {
    image->bytes[i] = convert(image->bytes[2 * i] << 8 | image->bytes[2 * i + 1], i);
  }
  image->bytes.resize(count);
}

uint8_t LabelOf(int value, int64_t index, const ImageShape& shape) {
  if (value > 255) throw LabelTooLarge(value, index, shape);
  return static_cast<uint8_t>(value);
}

// Requests gray or BGR from libpng, of 8 bits or, for 16-bit files without `strip`, of 16.
void Convert(png_structp png, png_infop info, bool gray, bool strip) {
  if (strip) png_set_strip_16(png);
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

void DecodePng(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image) {
  const DecodeOptions::Color color = options.color;
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
  // libpng weighs colours for gray more exactly if it knows that bytes are wanted.
  const bool weighed = gray && (png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) != 0;
  const bool strip = weighed && options.sixteen_bit_range == kSixteenBits;
  image->palette_as_gray =
      gray && png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE && HasColours(png, info);
  int passes = 0;
  Run(&reading, [&] {
    if (values) {
      KeepValues(png);
    } else {
      Convert(png, info, gray, strip);
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
  if (!wide) return;
  const ImageShape& shape = image->shape;
  if (values) {
    TakeWide([&](int value, int64_t i) { return LabelOf(value, i, shape); }, image);
    return;
  }
  Narrowing narrowed(options, image);
  if (!strip) return TakeWide([&](int value, int64_t) { return narrowed(value); }, image);
  image->brightest = *std::max_element(image->bytes.begin(), image->bytes.end()) << 8 | 255;
}

}  // namespace doppio
