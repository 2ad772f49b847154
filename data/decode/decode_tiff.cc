// Decodes the first page of a TIFF file: values of 1 to 16 bits that are gray, colours, or indices
// of a palette, without alpha; and JPEGs inside. Other images are refused.
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include "core/base/error.h"
#include "core/base/library_version.h"
#include "data/decode/decode_formats.h"

namespace doppio {
namespace {

using Tiff = std::unique_ptr<TIFF, decltype(&TIFFClose)>;

// The file in memory, and the first mistake that libtiff found in it.
struct TiffFile {
  const uint8_t* bytes;
  uint64_t size;
  uint64_t at = 0;
  char message[256] = "";

  // libtiff begins with the file's name, which is "" here, and ": ".
  FileError Corrupt() const {
    const char* const why = message + (std::strncmp(message, ": ", 2) == 0 ? 2 : 0);
    return FileError("corrupt TIFF image: ", *why != '\0' ? why : "it ends too early");
  }
};

tmsize_t ReadBytes(thandle_t user, void* to, tmsize_t bytes) {
  auto* file = static_cast<TiffFile*>(user);
  const uint64_t at = std::min(file->size, file->at);
  const uint64_t count = std::min(file->size - at, static_cast<uint64_t>(bytes));
  std::copy_n(file->bytes + at, count, static_cast<uint8_t*>(to));
  file->at = at + count;
  return static_cast<tmsize_t>(count);
}

toff_t SeekTo(thandle_t user, toff_t offset, int from) {
  auto* file = static_cast<TiffFile*>(user);
  return file->at = offset + (from == SEEK_CUR ? file->at : from == SEEK_END ? file->size : 0);
}

int OnTiffError(TIFF*, void* user, const char*, const char* format, va_list values) {
  auto* file = static_cast<TiffFile*>(user);
  if (file->message[0] == '\0') {
    std::vsnprintf(file->message, sizeof file->message, format, values);
  }
  return 1;
}

// Of the warnings, only those of faxes and JPEGs that end prematurely are about missing pixels.
int OnTiffWarning(TIFF*, void* user, const char*, const char* format, va_list values) {
  auto* file = static_cast<TiffFile*>(user);
  if (file->message[0] != '\0') return 1;
  std::vsnprintf(file->message, sizeof file->message, format, values);
  if (std::strstr(file->message, "remature") == nullptr) file->message[0] = '\0';
  return 1;
}

Tiff Open(TiffFile* file) {
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(
      TIFFOpenOptionsAlloc(), &TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), &OnTiffError, file);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), &OnTiffWarning, file);
  const auto write = [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; };
  const auto close = [](thandle_t) { return 0; };
  const auto size = [](thandle_t user) -> toff_t { return static_cast<TiffFile*>(user)->size; };
  Tiff tiff(TIFFClientOpenExt("", "rm", file, &ReadBytes, write, &SeekTo, close, size, nullptr,
                              nullptr, options.get()),
            &TIFFClose);
  if (tiff == nullptr) throw file->Corrupt();
  return tiff;
}

template <class T>
T FieldOf(const Tiff& tiff, uint32_t tag, T otherwise = 0) {
  T value = otherwise;
  return TIFFGetFieldDefaulted(tiff.get(), tag, &value) == 1 ? value : otherwise;
}

struct Layout {
  int64_t height, width;
  int bits, samples;  // of a value, and values per pixel
  int photometric, compression;
  bool planes;  // each sample has strips or tiles of its own

  int channels() const { return photometric == PHOTOMETRIC_RGB ? 3 : 1; }
};

Layout LayoutOf(const Tiff& tiff) {
  const auto small = [&](uint32_t tag) { return int{FieldOf<uint16_t>(tiff, tag)}; };
  Layout image = {FieldOf<uint32_t>(tiff, TIFFTAG_IMAGELENGTH),
                  FieldOf<uint32_t>(tiff, TIFFTAG_IMAGEWIDTH),
                  small(TIFFTAG_BITSPERSAMPLE),
                  small(TIFFTAG_SAMPLESPERPIXEL),
                  small(TIFFTAG_PHOTOMETRIC),
                  small(TIFFTAG_COMPRESSION),
                  small(TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE};
  if (image.photometric == PHOTOMETRIC_YCBCR && image.compression == COMPRESSION_JPEG) {
    TIFFSetField(tiff.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    image.photometric = PHOTOMETRIC_RGB;
  }
  return image;
}

// Throws FileError for images that are not read.
void CheckKind(const Tiff& tiff, const Layout& image) {
  const uint8_t* version = nullptr;
  const bool preview = (FieldOf<uint32_t>(tiff, TIFFTAG_SUBFILETYPE) & FILETYPE_REDUCEDIMAGE) != 0;
  if (preview || TIFFGetField(tiff.get(), TIFFTAG_DNGVERSION, &version) == 1) {
    throw FileError("its first page is a preview, as in a camera's raw image; convert it: ",
                    kImageMagick);
  }
  const int format = FieldOf<uint16_t>(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  const bool gray = image.photometric <= PHOTOMETRIC_MINISBLACK && image.samples >= 1;
  const bool known = gray || (image.photometric == PHOTOMETRIC_PALETTE && image.bits <= 8) ||
                     (image.photometric == PHOTOMETRIC_RGB && image.samples >= 3);
  const bool whole = format == SAMPLEFORMAT_UINT || format == SAMPLEFORMAT_VOID;
  constexpr int kMostSamples = 8;
  if (known && whole && image.bits >= 1 && image.bits <= 16 && image.samples <= kMostSamples) {
    return;
  }
  throw FileError("a TIFF image of ", image.samples, whole ? "" : " signed or floating-point",
                  " values of ", image.bits, " bits per pixel and photometric interpretation ",
                  image.photometric, " cannot be read; convert it: ", kImageMagick);
}

// Checks the stated size of the image or its tiles before memory is taken for it.
void CheckSize(int64_t height, int64_t width, const Layout& image, const TiffFile& file) {
  if (height < 1 || width < 1) throw FileError("corrupt TIFF image: it has no pixels");
  CheckPixels(height, width);
  // The most bytes that a byte of the file stands for; 0: any number. LZW reaches 1365. Programs
  // that are linked statically lack the libraries of other compressions.
  static const std::map<int, int64_t> most = {
      {COMPRESSION_NONE, 1},       {COMPRESSION_LZW, 2048},     {COMPRESSION_JPEG, 2048},
      {COMPRESSION_DEFLATE, 2048}, {COMPRESSION_PACKBITS, 128}, {COMPRESSION_ADOBE_DEFLATE, 2048},
      {COMPRESSION_CCITTRLE, 0},   {COMPRESSION_CCITTFAX3, 0},  {COMPRESSION_CCITTFAX4, 0}};
  const auto found = most.find(image.compression);
  if (found == most.end()) {
    throw FileError("a TIFF image of compression ", image.compression,
                    " cannot be read; convert it: ", kImageMagick);
  }
  const int64_t stored = height * width * image.samples * image.bits / 8;
  const int64_t possible = found->second * static_cast<int64_t>(file.size);
  if (possible > 0 && stored > possible) throw file.Corrupt();
}

// Returns value number `i` of a row.
int ValueAt(const uint8_t* row, size_t i, size_t bits) {
  if (bits == 8) return row[i];
  if (bits == 16) {
    uint16_t value;  // libtiff has swapped its bytes if necessary
    std::memcpy(&value, row + 2 * i, sizeof value);
    return value;
  }
  int value = 0;
  for (size_t bit = i * bits; bit < (i + 1) * bits; ++bit) {
    value = value << 1 | (row[bit / 8] >> (7 - bit % 8) & 1);
  }
  return value;
}

// Calls put(index, value) for every value of the channels. The order of the indices is that of
// rows of blue, green, red. Strips are tiles as wide as the image.
template <class Put>
void ReadValues(const Tiff& tiff, const Layout& image, const TiffFile& file, const Put& put) {
  const bool tiled = TIFFIsTiled(tiff.get()) != 0;
  const int64_t rows =
      FieldOf<uint32_t>(tiff, tiled ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP, UINT32_MAX);
  const int64_t height = tiled ? rows : std::min(rows, image.height);
  const int64_t width = tiled ? FieldOf<uint32_t>(tiff, TIFFTAG_TILEWIDTH) : image.width;
  CheckSize(height, width, image, file);
  const tmsize_t row_bytes = tiled ? TIFFTileRowSize(tiff.get()) : TIFFScanlineSize(tiff.get());
  std::vector<uint8_t> tile(row_bytes * height);
  const int channels = image.channels(), planes = image.planes ? channels : 1;
  const int per_plane = channels / planes, step = image.planes ? 1 : image.samples;
  const auto size = static_cast<tmsize_t>(tile.size());
  const auto read = tiled ? &TIFFReadEncodedTile : &TIFFReadEncodedStrip;
  uint32_t number = 0;
  for (int plane = 0; plane < planes; ++plane) {
    for (int64_t top = 0; top < image.height; top += height) {
      const int64_t bottom = std::min(image.height, top + height);
      for (int64_t left = 0; left < image.width; left += width, ++number) {
        const tmsize_t bytes = read(tiff.get(), number, tile.data(), size);
        if (bytes < row_bytes * (bottom - top) || file.message[0] != '\0') throw file.Corrupt();
        const int64_t columns = std::min(width, image.width - left);
        for (int64_t y = top; y < bottom; ++y) {
          const uint8_t* const row = tile.data() + (y - top) * row_bytes;
          for (int64_t i = 0; i < columns * per_plane; ++i) {
            const int64_t x = i / per_plane, c = i % per_plane;
            put(((y * image.width + left + x) + 1) * channels - 1 - plane - c,
                ValueAt(row, static_cast<size_t>(x * step + c), static_cast<size_t>(image.bits)));
          }
        }
      }
    }
  }
}

// Some writers store the palette's values of 16 bits as 8 bits.
std::vector<Bgr> PaletteOf(const Tiff& tiff, int bits, const TiffFile& file) {
  const uint16_t* rgb[3];
  if (TIFFGetField(tiff.get(), TIFFTAG_COLORMAP, &rgb[0], &rgb[1], &rgb[2]) != 1) {
    throw file.Corrupt();
  }
  const size_t count = size_t{1} << bits;
  const bool small = std::all_of(
      rgb, rgb + 3, [&](const uint16_t* c) { return *std::max_element(c, c + count) < 256; });
  std::vector<Bgr> palette(count);
  for (size_t i = 0; i < 3 * count; ++i) {
    const int value = rgb[i % 3][i / 3];
    palette[i / 3][2 - i % 3] = static_cast<uint8_t>(small ? value : value >> 8);
  }
  return palette;
}

// The library's words begin with "LIBTIFF, Version 4.5.0\n".
std::string RunningTiff() {
  const std::string words = TIFFGetVersion();
  const size_t at = words.find("Version ") + 8;
  return words.substr(at, words.find('\n') - at);
}

DOPPIO_REGISTER(Libraries, "libtiff", {"", &RunningTiff});

}  // namespace

void DecodeTiff(const uint8_t* file, size_t bytes, const DecodeOptions& options, Image* image) {
  TiffFile in = {file, bytes};
  const Tiff tiff = Open(&in);
  const Layout layout = LayoutOf(tiff);
  CheckKind(tiff, layout);
  CheckSize(layout.height, layout.width, layout, in);
  image->shape = {layout.channels(), static_cast<int>(layout.height),
                  static_cast<int>(layout.width)};
  image->bytes.resize(image->shape.count());
  const bool values = options.color == DecodeOptions::Color::kValues;
  const bool palette = layout.photometric == PHOTOMETRIC_PALETTE && !values;
  const int bits = layout.bits, most = (1 << bits) - 1;
  const int flip = layout.photometric == PHOTOMETRIC_MINISWHITE ? most : 0;
  const bool wide = bits > 8 && !values;
  Narrowing narrowed(options, image, wide);
  ReadValues(tiff, layout, in, [&](int64_t i, int value) {
    if (values && value > 255) throw LabelTooLarge(value, i, image->shape);
    image->bytes[i] = values || palette ? static_cast<uint8_t>(value)
                      : wide            ? narrowed((value ^ flip) << (16 - bits))
                                        : static_cast<uint8_t>((value ^ flip) * 255 / most);
  });
  if (palette) {
    image->palette_as_gray = TakePalette(PaletteOf(tiff, bits, in), options.color, image);
  } else if (layout.channels() == 3 && options.color == DecodeOptions::Color::kGray) {
    MakeGray(image);
  } else if (layout.channels() == 1 && options.color == DecodeOptions::Color::kColor) {
    Spread(image);
  }
}

}  // namespace doppio
