// Decodes the first image of a GIF, without a canvas around it.
#include <gif_lib.h>

#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "core/base/library_version.h"
#include "data/decode/decode_formats.h"

namespace doppio {
namespace {

using Gif = std::unique_ptr<GifFileType, void (*)(GifFileType*)>;

// giflib has several words for a file that ends.
FileError Corrupt(const FileReader& file, int error) {
  const char* const why = file.left() == 0 ? nullptr : GifErrorString(error);
  return file.Corrupt(why == nullptr ? "it ends too early" : why);
}

// Throws giflib's error unless `result` is GIF_OK.
void Must(int result, const Gif& gif) {
  if (result != GIF_OK) throw Corrupt(*static_cast<FileReader*>(gif->UserData), gif->Error);
}

int TakeBytes(GifFileType* gif, GifByteType* to, int bytes) {
  auto* const file = static_cast<FileReader*>(gif->UserData);
  const size_t count = std::min(file->left(), static_cast<size_t>(bytes));
  std::copy_n(file->Take(count), count, to);
  return static_cast<int>(count);
}

// Reads up to the first image's pixels. Extensions hold times, comments and the transparent colour.
void FindImage(const FileReader& file, const Gif& gif) {
  GifRecordType type;
  for (Must(DGifGetRecordType(gif.get(), &type), gif); type != IMAGE_DESC_RECORD_TYPE;
       Must(DGifGetRecordType(gif.get(), &type), gif)) {
    if (type != EXTENSION_RECORD_TYPE) throw file.Corrupt("it has no image");
    int code;
    GifByteType* block = nullptr;
    for (Must(DGifGetExtension(gif.get(), &code, &block), gif); block != nullptr;) {
      Must(DGifGetExtensionNext(gif.get(), &block), gif);
    }
  }
  Must(DGifGetImageDesc(gif.get()), gif);
}

DOPPIO_REGISTER(Libraries, "giflib", {DottedVersion(GIFLIB_MAJOR, GIFLIB_MINOR, GIFLIB_RELEASE)});

}  // namespace

void DecodeGif(const uint8_t* file, size_t bytes, DecodeOptions::Color color, Image* image) {
  FileReader in("GIF", file, bytes);
  int error = 0;
  const Gif gif(DGifOpen(&in, &TakeBytes, &error),
                [](GifFileType* g) { DGifCloseFile(g, nullptr); });
  if (gif == nullptr) throw Corrupt(in, error);
  FindImage(in, gif);
  const ColorMapObject* const map =
      gif->Image.ColorMap != nullptr ? gif->Image.ColorMap : gif->SColorMap;
  if (map == nullptr) throw in.Corrupt("it has no colours");
  // In the long run, a code of at most 4096 pixels has 1.5 bytes.
  image->shape = {1, gif->Image.Height, gif->Image.Width};
  CheckExtents(in, image->shape.height, image->shape.width, 0);
  if (image->shape.count() / 4096 > static_cast<int64_t>(bytes)) {
    throw in.Corrupt("it ends too early");
  }
  image->bytes.resize(image->shape.count());
  const int width = image->shape.width;
  const auto read = [&](int first, int step) {
    for (int y = first; y < image->shape.height; y += step) {
      Must(DGifGetLine(gif.get(), image->bytes.data() + int64_t{y} * width, width), gif);
    }
  };
  if (gif->Image.Interlace) {
    for (const auto& [first, step] : {std::pair{0, 8}, {4, 8}, {2, 4}, {1, 2}}) read(first, step);
  } else {
    read(0, 1);
  }
  if (color == DecodeOptions::Color::kValues) return;
  std::vector<Bgr> palette;
  for (const GifColorType* c = map->Colors; c < map->Colors + map->ColorCount; ++c) {
    palette.push_back({c->Blue, c->Green, c->Red});
  }
  TakePalette(palette, color, image);
}

}  // namespace doppio
