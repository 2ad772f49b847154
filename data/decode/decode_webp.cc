#include <webp/decode.h>

#include "core/base/error.h"
#include "core/base/library_version.h"
#include "data/decode/decode_formats.h"
#include "data/decode/file_span.h"

namespace doppio {
namespace {

enum Compression { kMixed = 0, kLossy = 1, kLossless = 2 };  // WebPBitstreamFeatures::format

FileError Corrupt(const char* why) { return FileError("corrupt WebP image: ", why); }

WebPBitstreamFeatures FeaturesOf(const FileSpan& file) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(file.bytes, file.size, &features) == VP8_STATUS_OK) return features;
  throw Corrupt("its header is damaged");
}

std::string RunningWebp() {
  const int version = WebPGetDecoderVersion();
  return DottedVersion(version >> 16, version >> 8 & 255, version & 255);
}

DOPPIO_REGISTER(Libraries, "libwebp", {"", &RunningWebp});

}  // namespace

void DecodeWebp(const uint8_t* bytes, size_t size, DecodeOptions::Color color, Image* image) {
  FileSpan file = {bytes, size};
  // The file states its length behind "RIFF". A file that was cut lacks a part of it.
  if (file.Number(4, 4, true) + 8 > size) throw Corrupt("it ends too early");
  WebPBitstreamFeatures features = FeaturesOf(file);
  if (features.has_animation != 0) {
    // A frame is an image without "RIFF" behind 16 bytes about its place and time.
    constexpr size_t kFirstChunk = 12, kPlace = 16;
    file = file.Chunk("ANMF", kFirstChunk, false).Part(kPlace, size);
    features = FeaturesOf(file);
  }
  CheckPixels(features.height, features.width);
  if (color == DecodeOptions::Color::kValues && features.format != kLossless) {
    throw FileError("it is a lossy WebP image, whose compression changes labels; store a PNG");
  }
  image->shape = {3, features.height, features.width};
  // A macroblock of 256 pixels takes at least 2 bits. Lossless pixels may take none.
  constexpr int64_t kMostPerByte = 2048;
  if (features.format == kLossy &&
      image->shape.count() / 3 / kMostPerByte > static_cast<int64_t>(file.size)) {
    throw Corrupt("it ends too early");
  }
  image->bytes.resize(image->shape.count());
  if (WebPDecodeBGRInto(file.bytes, file.size, image->bytes.data(), image->bytes.size(),
                        3 * features.width) == nullptr) {
    throw Corrupt("its pixels are damaged, or it ends too early");
  }
  if (color == DecodeOptions::Color::kGray) MakeGray(image);
}

}  // namespace doppio
