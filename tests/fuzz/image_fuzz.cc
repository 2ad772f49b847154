// Fuzzes the reader of image files: JPEG, PNG, WebP, TIFF, GIF, BMP and PNM, which it distinguishes
// by their first bytes. The last byte of an input is not part of the image; it selects the colours
// and the size.
#include <zlib.h>

#include <string>

#include "data/decode/decode.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

constexpr int64_t kMostPixels = 1 << 14;  // larger images only take time

doppio::DecodeOptions Options(int choice) {
  doppio::DecodeOptions options;
  options.color = static_cast<doppio::DecodeOptions::Color>(choice % 3);
  if ((choice & 8) != 0) options.color = doppio::DecodeOptions::Color::kValues;
  if ((choice & 16) != 0) options.sixteen_bit_range = 4096;
  options.upright = (choice & 32) != 0;
  options.scaled = (choice & 64) != 0;
  if ((choice & 128) != 0) options.height = options.width = 5;
  return options;
}

// Corrects the checksums of a PNG file's chunks, because libpng stops at the first wrong one.
void RepairChecksums(std::string* png) {
  const auto byte = [png](size_t i) { return size_t{static_cast<uint8_t>((*png)[i])}; };
  constexpr size_t kSignature = 8, kAround = 12;  // length, type and checksum around the data
  for (size_t at = kSignature; png->size() >= at + kAround;) {
    const size_t length = byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3);
    if (length > png->size() - at - kAround) return;
    const auto* type = reinterpret_cast<const Bytef*>(png->data() + at + 4);
    const uint64_t checksum = crc32(0, type, static_cast<uInt>(length + 4));
    for (size_t i = 0; i < 4; ++i)
      (*png)[at + 8 + length + i] = static_cast<char>(checksum >> (24 - 8 * i));
    at += length + kAround;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  doppio::SetMostImagePixels(kMostPixels);
  std::string file = doppio::Text(data, size - 1);
  if (file.compare(0, 4, "\x89PNG") == 0) RepairChecksums(&file);
  doppio::AllowErrors([&] {
    doppio::Image image;
    doppio::Decode(reinterpret_cast<const uint8_t*>(file.data()), file.size(),
                   Options(data[size - 1]), &image);
  });
  return 0;
}
