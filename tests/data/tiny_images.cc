#include "tests/data/tiny_images.h"

#include <gif_lib.h>
#include <gtest/gtest.h>
#include <tiffio.h>
#include <webp/encode.h>
#include <webp/types.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

std::string BytesOf(const std::vector<int>& values) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

std::string Little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string Big(uint64_t value, int bytes) {
  const std::string little = Little(value, bytes);
  return {little.rbegin(), little.rend()};
}

std::string Chunk(const std::string& name, const std::string& content) {
  return name + Little(content.size(), 4) + content + std::string(content.size() % 2, '\0');
}

std::string Riff(const std::string& chunks) {
  return "RIFF" + Little(chunks.size() + 4, 4) + "WEBP" + chunks;
}

// The chunk before all others, for files with more than pixels.
std::string ExtendedHeader(int flags, int height, int width) {
  return Chunk("VP8X", Little(static_cast<uint64_t>(flags), 4) +
                           Little(static_cast<uint64_t>(width - 1), 3) +
                           Little(static_cast<uint64_t>(height - 1), 3));
}

std::string Frame(const std::string& file, const WebpKind& kind) {
  return Chunk("ANMF", Little(0, 6) + Little(static_cast<uint64_t>(kind.width - 1), 3) +
                           Little(static_cast<uint64_t>(kind.height - 1), 3) + Little(40, 3) +
                           Little(0, 1) + file.substr(12));
}

std::string StillWebp(const WebpKind& kind, const std::vector<int>& pixels) {
  const std::string bytes = BytesOf(pixels);
  const auto* from = reinterpret_cast<const uint8_t*>(bytes.data());
  WebPConfig config;
  WebPPicture picture;
  EXPECT_TRUE(WebPConfigInit(&config) && WebPPictureInit(&picture));
  config.lossless = config.exact = kind.lossless;  // exact: colours behind alpha 0 stay
  config.quality = 100;
  picture.use_argb = kind.lossless;
  picture.width = kind.width;
  picture.height = kind.height;
  EXPECT_TRUE(kind.channels == 4 ? WebPPictureImportRGBA(&picture, from, 4 * kind.width)
                                 : WebPPictureImportRGB(&picture, from, 3 * kind.width));
  WebPMemoryWriter memory;
  WebPMemoryWriterInit(&memory);
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &memory;
  EXPECT_TRUE(WebPEncode(&config, &picture)) << picture.error_code;
  std::string file(reinterpret_cast<char*>(memory.mem), memory.size);
  WebPMemoryWriterClear(&memory);
  WebPPictureFree(&picture);
  return file;
}

std::string ContentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Returns the stored bytes of `count` values, each row from a byte of its own.
std::string Packed(const std::vector<int>& values, size_t first, size_t count, int bits) {
  std::string row;
  int used = 8;  // bits of the last byte
  for (size_t i = first; i < first + count; ++i) {
    if (bits == 16) {  // in the machine's order; libtiff swaps them
      row += Little(static_cast<uint64_t>(values[i]), 2);
      continue;
    }
    for (int bit = bits - 1; bit >= 0; --bit) {
      if (used == 8) row += '\0', used = 0;
      row.back() = static_cast<char>(row.back() | (values[i] >> bit & 1) << (7 - used++));
    }
  }
  return row;
}

std::vector<int> EveryNth(const std::vector<int>& values, int n, int first) {
  std::vector<int> some;
  for (size_t i = static_cast<size_t>(first); i < values.size(); i += static_cast<size_t>(n))
    some.push_back(values[i]);
  return some;
}

void WriteTiles(TIFF* tiff, const TiffKind& kind, const std::vector<int>& values) {
  const int side = kind.tile, channels = kind.channels;
  for (int top = 0; top < kind.height; top += side) {
    for (int left = 0; left < kind.width; left += side) {
      std::vector<int> tile(static_cast<size_t>(side * side * channels));
      for (int y = top; y < std::min(kind.height, top + side); ++y) {
        for (int x = left; x < std::min(kind.width, left + side); ++x) {
          for (int c = 0; c < channels; ++c) {
            tile[static_cast<size_t>(((y - top) * side + x - left) * channels + c)] =
                values[static_cast<size_t>((y * kind.width + x) * channels + c)];
          }
        }
      }
      std::string bytes = Packed(tile, 0, tile.size(), kind.bits);
      EXPECT_GT(TIFFWriteTile(tiff, bytes.data(), static_cast<uint32_t>(left),
                              static_cast<uint32_t>(top), 0, 0),
                0);
    }
  }
}

}  // namespace

std::string Webp(const WebpKind& kind, const std::vector<int>& pixels) {
  const std::string first = StillWebp(kind, pixels);
  if (kind.frames == 1) return first;
  const std::vector<int> black(pixels.size(), 0);
  std::string chunks =
      ExtendedHeader(2, kind.height, kind.width) + Chunk("ANIM", Little(0, 6)) + Frame(first, kind);
  for (int i = 1; i < kind.frames; ++i) chunks += Frame(StillWebp(kind, black), kind);
  return Riff(chunks);
}

std::string Tiff(const TiffKind& kind, const std::vector<int>& values) {
  const std::string path = ScratchPath("made.tif");
  TIFF* const tiff = TIFFOpen(path.c_str(), kind.big ? "w8b" : "w");
  const auto set = [tiff](uint32_t tag, int value) {
    EXPECT_EQ(TIFFSetField(tiff, tag, value), 1);
  };
  set(TIFFTAG_IMAGEWIDTH, kind.width);
  set(TIFFTAG_IMAGELENGTH, kind.height);
  set(TIFFTAG_BITSPERSAMPLE, kind.bits);
  set(TIFFTAG_SAMPLESPERPIXEL, kind.channels);
  set(TIFFTAG_SAMPLEFORMAT, kind.format);
  const bool colour = kind.channels >= 3;
  const int photometric = kind.photometric >= 0 ? kind.photometric : colour ? 2 : 1;
  set(TIFFTAG_PHOTOMETRIC, photometric);
  set(TIFFTAG_COMPRESSION, kind.compression);
  set(TIFFTAG_PLANARCONFIG, kind.planes ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
  if (kind.compression == COMPRESSION_JPEG) {
    set(TIFFTAG_JPEGQUALITY, 100);
    if (photometric == PHOTOMETRIC_YCBCR) set(TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  }
  if ((kind.channels == 4 && photometric == PHOTOMETRIC_RGB) || kind.channels == 2) {
    const uint16_t alpha = EXTRASAMPLE_UNASSALPHA;
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &alpha);
  }
  if (kind.orientation > 0) set(TIFFTAG_ORIENTATION, kind.orientation);
  if (kind.subfile > 0) set(TIFFTAG_SUBFILETYPE, kind.subfile);
  if (photometric == PHOTOMETRIC_PALETTE) {
    std::vector<uint16_t> rgb[3];
    for (int i = 0; i < 1 << kind.bits; ++i) {
      for (int c = 0; c < 3; ++c)
        rgb[c].push_back(static_cast<uint16_t>(std::min(255, 10 + 10 * c + 30 * i) * 257));
    }
    TIFFSetField(tiff, TIFFTAG_COLORMAP, rgb[0].data(), rgb[1].data(), rgb[2].data());
  }
  if (kind.tile > 0) {
    set(TIFFTAG_TILEWIDTH, kind.tile);
    set(TIFFTAG_TILELENGTH, kind.tile);
    WriteTiles(tiff, kind, values);
  } else {
    set(TIFFTAG_ROWSPERSTRIP, kind.rows_per_strip);
    const int planes = kind.planes ? kind.channels : 1;
    for (int plane = 0; plane < planes; ++plane) {
      const std::vector<int> of_plane =
          kind.planes ? EveryNth(values, kind.channels, plane) : values;
      const size_t row = of_plane.size() / static_cast<size_t>(kind.height);
      for (int y = 0; y < kind.height; ++y) {
        std::string bytes = Packed(of_plane, row * static_cast<size_t>(y), row, kind.bits);
        EXPECT_EQ(TIFFWriteScanline(tiff, bytes.data(), static_cast<uint32_t>(y),
                                    static_cast<uint16_t>(plane)),
                  1);
      }
    }
  }
  TIFFClose(tiff);
  const std::string file = ContentOf(path);
  std::remove(path.c_str());
  return file;
}

std::string Gif(const GifKind& kind, const std::vector<int>& indices) {
  std::string file;
  const auto append = [](GifFileType* gif, const GifByteType* bytes, int count) {
    static_cast<std::string*>(gif->UserData)
        ->append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
    return count;
  };
  int error = 0;
  GifFileType* const gif = EGifOpen(&file, append, &error);
  std::vector<GifColorType> colours;
  for (int i = 0; i < 8; ++i) {
    const auto light = [&](int first) {
      return static_cast<GifByteType>(std::min(255, (kind.gray ? 0 : first) + 30 * i));
    };
    colours.push_back({light(10), light(20), light(30)});
  }
  ColorMapObject* const map = GifMakeMapObject(8, colours.data());
  const int height = kind.canvas_height > 0 ? kind.canvas_height : kind.height;
  const int width = kind.canvas_width > 0 ? kind.canvas_width : kind.width;
  EXPECT_EQ(EGifPutScreenDesc(gif, width, height, 3, 1, map), GIF_OK);
  for (int frame = 0; frame < kind.frames; ++frame) {
    EXPECT_EQ(EGifPutComment(gif, "a comment"), GIF_OK);
    EXPECT_EQ(EGifPutImageDesc(gif, kind.left, kind.top, kind.width, kind.height, kind.interlaced,
                               nullptr),
              GIF_OK);
    std::vector<int> rows;
    for (int first : {0, 4, 2, 1}) {
      const int step = first == 0 || first == 4 ? 8 : first == 2 ? 4 : 2;
      for (int y = first; y < kind.height && kind.interlaced; y += step) rows.push_back(y);
    }
    for (int y = 0; y < kind.height && !kind.interlaced; ++y) rows.push_back(y);
    for (const int y : rows) {
      std::vector<GifPixelType> row;
      for (int x = 0; x < kind.width; ++x) {
        const int index = indices[static_cast<size_t>(y * kind.width + x)];
        row.push_back(static_cast<GifPixelType>(frame == 0 ? index : 0));
      }
      EXPECT_EQ(EGifPutLine(gif, row.data(), kind.width), GIF_OK);
    }
  }
  EXPECT_EQ(EGifCloseFile(gif, &error), GIF_OK);
  GifFreeMapObject(map);
  return file;
}

std::string Exif(int orientation) {
  return std::string("MM\0*\0\0\0\x08\0\x01\x01\x12\0\3\0\0\0\1\0", 19) +
         static_cast<char>(orientation) + std::string(6, '\0');
}

std::string WithExif(const std::string& file, const std::string& exif) {
  if (file.compare(0, 4, "RIFF") == 0) {
    // The size of a lossless image stands in bits behind its signature.
    const bool lossless = file.compare(12, 4, "VP8L") == 0;
    const auto byte = [&](size_t i) { return static_cast<int>(static_cast<uint8_t>(file[i])); };
    const int bits = byte(21) | byte(22) << 8 | byte(23) << 16 | byte(24) << 24;
    const int width = lossless ? (bits & 0x3fff) + 1 : byte(26) | byte(27) << 8;
    const int height = lossless ? (bits >> 14 & 0x3fff) + 1 : byte(28) | byte(29) << 8;
    return Riff(ExtendedHeader(8, height, width) + file.substr(12) + Chunk("EXIF", exif));
  }
  if (file.compare(0, 4, "\x89PNG") == 0) {
    const std::string body = "eXIf" + exif;
    const uint64_t crc =
        crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
    constexpr size_t kBehindHeader = 33;
    return file.substr(0, kBehindHeader) + Big(exif.size(), 4) + body + Big(crc, 4) +
           file.substr(kBehindHeader);
  }
  const std::string segment = std::string("Exif\0\0", 6) + exif;
  return file.substr(0, 2) + "\xff\xe1" + Big(segment.size() + 2, 2) + segment + file.substr(2);
}

}  // namespace doppio
