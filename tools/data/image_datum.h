// One image file as a database's record, as Caffe's convert_imageset makes it.
#ifndef DOPPIO_TOOLS_DATA_IMAGE_DATUM_H_
#define DOPPIO_TOOLS_DATA_IMAGE_DATUM_H_

#include <optional>
#include <string>
#include <vector>

#include "data/decode/decode.h"
#include "proto/data.pb.h"

namespace doppio {

struct ImageDatumOptions {
  DecodeOptions decode;               // colour or gray, and the size to bring it to
  bool encoded = false;               // an image file, not pixels
  std::optional<ImageFormat> format;  // of the encoded image; without it the file's own
};

// `file` is a JPEG's or PNG's content. Its bytes are kept as they are where nothing is to be
// changed: not the size, not the format, not the number of channels. One whole label goes where
// Caffe reads it, others into `labels`. `*shape` becomes that of the pixels. Throws FileError where
// the image is damaged.
Datum MakeImageDatum(const std::string& file, const std::vector<float>& labels,
                     const ImageDatumOptions& options, ImageShape* shape);

// A record of planes of bytes, as Caffe's convert_mnist_data and convert_cifar_data make it.
Datum MakePixelDatum(const Record& record);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IMAGE_DATUM_H_
