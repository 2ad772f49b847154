#include "tests/random/tiny_images.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"

namespace doppio {
namespace {

Random RandomOf(const DataName& name, const char* purpose) {
  return Random(name.seed, Stream("tiny images", purpose));
}

// Draws the first and the last pixel of an object along an axis of `pixels` pixels.
std::pair<int, int> DrawSpan(const Random& random, int pixels, uint64_t index, uint64_t element) {
  const int first = static_cast<int>(random.Below(static_cast<uint32_t>(pixels), index, element));
  const auto left = static_cast<uint32_t>(pixels - first);
  return {first, first + static_cast<int>(random.Below(left, index, element + 1))};
}

}  // namespace

std::vector<uint8_t> TinyBytes(const DataName& name, int64_t index, int64_t count) {
  const Random random = RandomOf(name, "pixels");
  std::vector<uint8_t> bytes;
  for (uint64_t block = 0; static_cast<int64_t>(bytes.size()) < count; ++block) {
    const Random4 four = random.At(static_cast<uint64_t>(index), block);
    for (const uint32_t word : four.v) {
      for (int shift = 0; shift < 32; shift += 8)
        bytes.push_back(static_cast<uint8_t>(word >> shift));
    }
  }
  bytes.resize(static_cast<size_t>(count));
  return bytes;
}

Image TinyImage(const DataName& name, int64_t index, const ImageShape& shape) {
  Image image;
  image.shape = shape;
  image.bytes = TinyBytes(name, index, shape.count());
  return image;
}

Image TinyLabelImage(const DataName& name, int64_t index, const ImageShape& shape) {
  const Random random = RandomOf(name, "label images");
  Image image;
  image.shape = {1, shape.height, shape.width};
  for (int64_t i = 0; i < image.shape.count(); ++i) {
    image.bytes.push_back(
        static_cast<uint8_t>(random.Below(static_cast<uint32_t>(std::min(name.classes, 256)),
                                          static_cast<uint64_t>(index), static_cast<uint64_t>(i))));
  }
  return image;
}

ImageShape VariedShape(const DataName& name, int64_t index) {
  const Random random = RandomOf(name, "sizes");
  ImageShape shape = name.shape;
  shape.height += static_cast<int>(random.Below(4, static_cast<uint64_t>(index), 0));
  shape.width += static_cast<int>(random.Below(4, static_cast<uint64_t>(index), 1));
  return shape;
}

int TinyLabel(const DataName& name, int64_t index, int which) {
  return static_cast<int>(RandomOf(name, "labels")
                              .Below(static_cast<uint32_t>(name.classes),
                                     static_cast<uint64_t>(index), static_cast<uint64_t>(which)));
}

std::vector<ObjectBox> TinyObjects(const DataName& name, int64_t index) {
  DOPPIO_CHECK(name.classes >= 2, name.text);
  const Random random = RandomOf(name, "objects");
  const auto sample = static_cast<uint64_t>(index);
  const auto count = 1 + random.Below(kMostTinyObjects, sample, 0);
  const auto height = static_cast<float>(name.shape.height);
  const auto width = static_cast<float>(name.shape.width);
  std::vector<ObjectBox> objects;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t element = 8 * (i + 1);
    const auto [left, right] = DrawSpan(random, name.shape.width, sample, element);
    const auto [top, bottom] = DrawSpan(random, name.shape.height, sample, element + 2);
    const auto label =
        1 + random.Below(static_cast<uint32_t>(name.classes - 1), sample, element + 4);
    const bool difficult = i > 0 && random.Below(4, sample, element + 5) == 0;
    objects.push_back(
        {{static_cast<float>(left) / width, static_cast<float>(top) / height,
          static_cast<float>(right + 1) / width, static_cast<float>(bottom + 1) / height},
         static_cast<float>(label),
         static_cast<float>(i),
         difficult});
  }
  return objects;
}

PixelBox PixelsOf(const ObjectBox& object, const ImageShape& shape) {
  const auto pixel = [](float part, int extent) {
    return static_cast<int64_t>(std::lround(part * static_cast<float>(extent)));
  };
  const Box& box = object.box;
  return {pixel(box.xmin, shape.width), pixel(box.ymin, shape.height),
          pixel(box.xmax, shape.width) - 1, pixel(box.ymax, shape.height) - 1};
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file.flush()) throw FileError("cannot write '" + path + "'");
}

}  // namespace doppio
