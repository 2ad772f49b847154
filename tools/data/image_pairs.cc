#include "tools/data/image_pairs.h"

#include <string>

#include "core/base/random.h"

namespace doppio {
namespace {

class ImagePairs : public Source {
 public:
  ImagePairs(const Source& images, uint64_t seed)
      : images_(images), random_(seed, Stream("image_pairs")) {}

  int64_t size() const override { return images_.size(); }

  void Read(int64_t index, Record* record) const override {
    Record image;
    float labels[2];
    record->byte_storage.clear();
    for (const int side : {0, 1}) {
      images_.Read(Drawn(index, side), &image);
      record->byte_storage.append(reinterpret_cast<const char*>(image.pixels.bytes),
                                  image.pixels.shape.count());
      labels[side] = image.labels.at(0);
    }
    ImageShape shape = image.pixels.shape;
    shape.channels *= 2;
    const auto* bytes = reinterpret_cast<const uint8_t*>(record->byte_storage.data());
    record->pixels = {shape, bytes, nullptr, false};
    record->encoded = nullptr;
    record->labels = {labels[0] == labels[1] ? 1.0f : 0.0f};
  }

  std::string Name(int64_t index) const override {
    return "pair of " + images_.Name(Drawn(index, 0)) + " and " + images_.Name(Drawn(index, 1));
  }

 private:
  int64_t Drawn(int64_t pair, int side) const {
    return random_.Below(static_cast<uint32_t>(images_.size()), static_cast<uint64_t>(pair),
                         static_cast<uint64_t>(side));
  }

  const Source& images_;
  const Random random_;
};

}  // namespace

std::unique_ptr<Source> DrawPairs(const Source& images, uint64_t seed) {
  return std::make_unique<ImagePairs>(images, seed);
}

}  // namespace doppio
