#include "tools/data/image_datum.h"

#include "core/base/error.h"
#include "data/decode/encode.h"
#include "data/decode/exif.h"
#include "data/record/whole_label.h"

namespace doppio {
namespace {

void SetLabels(const std::vector<float>& labels, Datum* datum) {
  if (const std::optional<int> label = WholeLabel(labels)) {
    datum->set_label(*label);
  } else {
    datum->mutable_labels()->Add(labels.begin(), labels.end());
  }
}

// Returns the interleaved pixels of `image` as planes, one per channel.
std::string Planes(const Image& image) {
  const int channels = image.shape.channels;
  const size_t plane = size_t(image.shape.height) * static_cast<size_t>(image.shape.width);
  std::string planes(plane * static_cast<size_t>(channels), '\0');
  for (int c = 0; c < channels; ++c) {
    const uint8_t* from = image.bytes.data() + c;
    char* to = &planes[plane * static_cast<size_t>(c)];
    for (size_t i = 0; i < plane; ++i)
      to[i] = static_cast<char>(from[i * static_cast<size_t>(channels)]);
  }
  return planes;
}

}  // namespace

Datum MakeImageDatum(const std::string& file, const std::vector<float>& labels,
                     const ImageDatumOptions& options, ImageShape* shape, RecordRemarks* remarks) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  Datum datum;
  SetLabels(labels, &datum);
  datum.set_encoded(options.encoded);
  thread_local Image image;  // reuses its buffer for every file
  if (options.encoded && options.decode.height == 0) {
    DecodeOptions stored;
    Decode(bytes, file.size(), stored, &image);
    const int wanted = options.decode.color == DecodeOptions::Color::kGray ? 1 : 3;
    const bool turned = options.decode.upright && OrientationOf(bytes, file.size()) != kUpright;
    const bool scaled = image.narrowed && options.decode.sixteen_bit_range != kSixteenBits;
    if (image.shape.channels == wanted && !turned && !scaled &&
        options.format.value_or(FormatOf(bytes, file.size())) == FormatOf(bytes, file.size())) {
      *shape = image.shape;
      datum.set_data(file);
      return datum;
    }
  }
  Decode(bytes, file.size(), options.decode, &image);
  *shape = image.shape;
  if (remarks != nullptr) {
    remarks->narrowed = image.narrowed;
    remarks->palette_as_gray = image.palette_as_gray;
  }
  if (options.encoded) {
    datum.set_data(Encode(image, options.format.value_or(FormatOf(bytes, file.size()))));
    return datum;
  }
  datum.set_channels(image.shape.channels);
  datum.set_height(image.shape.height);
  datum.set_width(image.shape.width);
  datum.set_data(Planes(image));
  return datum;
}

Datum MakePixelDatum(const Record& record) {
  const Pixels& pixels = record.pixels;
  DOPPIO_CHECK(pixels.bytes != nullptr && !pixels.interleaved, "planes of bytes are wanted");
  Datum datum;
  datum.set_channels(pixels.shape.channels);
  datum.set_height(pixels.shape.height);
  datum.set_width(pixels.shape.width);
  datum.set_data(pixels.bytes, static_cast<size_t>(pixels.shape.count()));
  SetLabels(record.labels, &datum);
  return datum;
}

}  // namespace doppio
