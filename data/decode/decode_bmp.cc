// Decodes bitmaps of Windows and OS/2, of all depths, including run-length encoding. The bits of
// 15- and 16-bit colours become the upper bits of bytes, with zeros below, as in OpenCV.
#include <algorithm>

#include "data/decode/decode_formats.h"

namespace doppio {
namespace {

constexpr size_t kFileHeader = 14, kOs2Header = 12, kWindowsHeader = 40;
enum Packing : uint32_t { kPlain = 0, kRuns8 = 1, kRuns4 = 2, kMasks = 3 };

struct Bmp {
  int height, width;
  bool top_first;
  uint32_t bits;  // bits per pixel
  uint32_t packing = kPlain;
  std::array<uint32_t, 3> masks;  // for blue, green, red
  std::vector<Bgr> palette;       // 2^bits colours; empty above 8 bits
  size_t pixels_at;
};

// The file stores the mask of red first.
std::array<uint32_t, 3> ReadMasks(FileReader* in) {
  std::array<uint32_t, 3> masks;
  for (int c = 2; c >= 0; --c) masks[c] = in->Number(4);
  return masks;
}

Bmp ReadBmpHeader(FileReader in) {
  Bmp bmp = {};
  const size_t all = in.left();
  in.Take(10);
  bmp.pixels_at = in.Number(4);
  const size_t header = in.Number(4);
  const bool os2 = header == kOs2Header;
  if (!os2 && header < kWindowsHeader) throw in.Corrupt("its header is damaged");
  const auto extent = [&] { return static_cast<int32_t>(in.Number(os2 ? 2 : 4)); };
  bmp.width = extent();
  const int64_t height = extent();
  bmp.top_first = height < 0;
  in.Take(2);
  bmp.bits = in.Number(2);
  uint32_t colors = 0;
  if (!os2) {
    bmp.packing = in.Number(4);
    in.Take(12);
    colors = in.Number(4);
    in.Take(4);
  }
  const bool runs = bmp.packing == kRuns8 || bmp.packing == kRuns4;
  CheckExtents(in, std::abs(height), bmp.width, runs ? 0 : bmp.bits);
  bmp.height = static_cast<int>(std::abs(height));
  const bool deep = bmp.bits == 16 || bmp.bits == 32;
  if (deep) {
    bmp.masks = bmp.bits == 16 ? std::array<uint32_t, 3>{0x1f, 0x3e0, 0x7c00}
                               : std::array<uint32_t, 3>{0xff, 0xff00, 0xff0000};
    // The masks follow the first 40 bytes of the header, whether or not the header's size includes
    // them.
    if (bmp.packing == kMasks) bmp.masks = ReadMasks(&in);
  }
  const bool known = (bmp.packing == kPlain && (deep || bmp.bits == 24 || bmp.bits == 1 ||
                                                bmp.bits == 4 || bmp.bits == 8)) ||
                     (bmp.packing == kRuns8 && bmp.bits == 8) ||
                     (bmp.packing == kRuns4 && bmp.bits == 4) || (bmp.packing == kMasks && deep);
  if (!known) {
    throw FileError("a BMP image of ", bmp.bits, " bits and compression ", bmp.packing,
                    " cannot be read; convert it to PNG");
  }
  if (bmp.bits <= 8) {
    bmp.palette.resize(size_t{1} << bmp.bits);
    in.Take(kFileHeader + header - (all - in.left()));
    const size_t given = colors == 0 ? bmp.palette.size() : colors;
    for (size_t i = 0; i < std::min(given, bmp.palette.size()); ++i) {
      const uint8_t* color = in.Take(os2 ? 3 : 4);
      std::copy(color, color + 3, bmp.palette[i].begin());
    }
  }
  return bmp;
}

// Returns palette indices, one byte each, in the order of the file's rows.
std::vector<uint8_t> ReadPlain(const Bmp& bmp, FileReader* in) {
  std::vector<uint8_t> numbers;
  numbers.reserve(static_cast<size_t>(bmp.height) * bmp.width);
  const uint32_t bits = bmp.bits, mask = (1u << bits) - 1;
  for (int y = 0; y < bmp.height; ++y) {
    const uint8_t* row = in->Take((static_cast<size_t>(bmp.width) * bits + 31) / 32 * 4);
    for (size_t x = 0; x < static_cast<size_t>(bmp.width); ++x) {
      const size_t first = x * bits;
      numbers.push_back(row[first / 8] >> (8 - bits - first % 8) & mask);
    }
  }
  return numbers;
}

// Returns palette indices from run-length encoded data. Skipped pixels have index 0. Pixels beyond
// the end of a row or below the last row are dropped.
std::vector<uint8_t> ReadRuns(const Bmp& bmp, FileReader* in) {
  const int per_byte = bmp.bits == 4 ? 2 : 1;
  std::vector<uint8_t> numbers(static_cast<size_t>(bmp.height) * bmp.width);
  int x = 0, y = 0;  // the next pixel; at most width and height
  const auto put = [&](int count, const auto& byte_of) {
    if (y == bmp.height) return;
    uint8_t* const to = numbers.data() + static_cast<size_t>(y) * bmp.width + x;
    const int room = std::min(count, bmp.width - x);
    for (int i = 0; i < room; ++i) {
      const int byte = byte_of(i / per_byte);
      to[i] = static_cast<uint8_t>(per_byte == 1 ? byte : i % 2 == 0 ? byte >> 4 : byte & 15);
    }
    x += room;
  };
  for (;;) {
    const int count = in->Byte(), what = in->Byte();
    if (count > 0) {
      put(count, [what](int) { return what; });
    } else if (what == 0) {  // end of the row
      x = 0;
      y = std::min(bmp.height, y + 1);
    } else if (what == 1) {  // end of the image
      return numbers;
    } else if (what == 2) {  // move to another position
      x = std::min(bmp.width, x + in->Byte());
      y = std::min(bmp.height, y + in->Byte());
    } else {  // `what` pixels follow, padded to two bytes
      const auto bytes = static_cast<size_t>((what + per_byte - 1) / per_byte);
      const uint8_t* from = in->Take(bytes + bytes % 2);
      put(what, [from](int i) { return from[i]; });
    }
  }
}

// Returns the bits under `mask` as the upper bits of a byte.
uint8_t Channel(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const int top = 31 - __builtin_clz(mask);
  return static_cast<uint8_t>(top > 7 ? (pixel & mask) >> (top - 7) : (pixel & mask) << (7 - top));
}

void ReadDeepRow(const Bmp& bmp, FileReader* in, uint8_t* to) {
  const int bytes = static_cast<int>(bmp.bits / 8);
  const size_t row_bytes = static_cast<size_t>(bmp.width) * static_cast<size_t>(bytes);
  const uint8_t* from = in->Take(row_bytes);
  // The last row may lack its padding.
  in->Take(std::min(in->left(), (row_bytes + 3) / 4 * 4 - row_bytes));
  if (bytes == 3) {
    std::copy(from, from + row_bytes, to);
    return;
  }
  for (int x = 0; x < bmp.width; ++x, from += bytes) {
    uint32_t pixel = 0;
    for (int i = bytes - 1; i >= 0; --i) pixel = pixel << 8 | from[i];
    for (int c = 0; c < 3; ++c) *to++ = Channel(pixel, bmp.masks[c]);
  }
}

void TakeIndices(const Bmp& bmp, const std::vector<uint8_t>& numbers, Image* image) {
  image->shape = {1, bmp.height, bmp.width};
  image->bytes.resize(numbers.size());
  for (int y = 0; y < bmp.height; ++y) {
    const int to = bmp.top_first ? y : bmp.height - 1 - y;
    std::copy_n(numbers.begin() + int64_t{y} * bmp.width, bmp.width,
                image->bytes.begin() + int64_t{to} * bmp.width);
  }
}

}  // namespace

void DecodeBmp(const uint8_t* file, size_t bytes, DecodeOptions::Color color, Image* image) {
  FileReader in("BMP", file, bytes);
  const Bmp bmp = ReadBmpHeader(in);
  in.Take(bmp.pixels_at);
  const bool values = color == DecodeOptions::Color::kValues;
  if (bmp.bits <= 8) {
    TakeIndices(bmp, bmp.packing == kPlain ? ReadPlain(bmp, &in) : ReadRuns(bmp, &in), image);
    if (!values) TakePalette(bmp.palette, color, image);
    return;
  }
  if (values && bmp.bits == 16) {
    throw FileError("a BMP of 16 bits has colours of 5 bits, which are no labels");
  }
  image->shape = {3, bmp.height, bmp.width};
  const size_t width = bmp.width;
  image->bytes.resize(3 * width * static_cast<size_t>(bmp.height));
  for (int y = 0; y < bmp.height; ++y) {
    uint8_t* to =
        &image->bytes[3 * width * static_cast<size_t>(bmp.top_first ? y : bmp.height - 1 - y)];
    ReadDeepRow(bmp, &in, to);
  }
  if (color == DecodeOptions::Color::kGray) MakeGray(image);
}

}  // namespace doppio
