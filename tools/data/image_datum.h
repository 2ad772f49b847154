// Makes a database record from one image file, as Caffe's convert_imageset does.
#ifndef DOPPIO_TOOLS_DATA_IMAGE_DATUM_H_
#define DOPPIO_TOOLS_DATA_IMAGE_DATUM_H_

#include <optional>
#include <string>
#include <vector>

#include "data/decode/decode.h"
#include "proto/data.pb.h"

namespace doppio {

struct ImageDatumOptions {
  DecodeOptions decode;               // colour or gray, the size to resize to, upright or not
  bool encoded = false;               // store an encoded image instead of pixels
  std::optional<ImageFormat> format;  // format of the encoded image; if absent, the file's own
};

// Makes a record from `file`, the content of an image file that Decode reads. An encoded record
// keeps the file's bytes unless the size, the format, the number of channels, the orientation or
// the range of values has to change. A single integer label goes into Datum.label, which Caffe
// reads; other labels go into Datum.labels. Sets `*shape` to the shape of the pixels, and
// `*remarks`, if not null, to what users should know about the pixels in the record. Throws
// FileError if the image is damaged.
Datum MakeImageDatum(const std::string& file, const std::vector<float>& labels,
                     const ImageDatumOptions& options, ImageShape* shape,
                     RecordRemarks* remarks = nullptr);

// Makes a database record from `record`, which must hold planes of bytes, as Caffe's
// convert_mnist_data and convert_cifar_data do.
Datum MakePixelDatum(const Record& record);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IMAGE_DATUM_H_
