// The short way from a JPEG file to a sample: only the rows and columns that the crop needs are
// decoded, and resized and cut as they come. No image is held, nothing is allocated. The values are
// those of Decode() and Augment::Apply(), bit for bit.
#ifndef DOPPIO_DATA_DECODE_JPEG_CUT_H_
#define DOPPIO_DATA_DECODE_JPEG_CUT_H_

#include <vector>

#include "data/augment/augment.h"
#include "data/decode/jpeg_reader.h"
#include "data/augment/resize.h"

namespace doppio {

// A worker's memory, kept from file to file.
struct JpegCutScratch {
  std::vector<uint32_t> source;    // a row as decoded
  std::vector<int16_t> across[2];  // an even and an odd row, resized along x
  std::vector<uint32_t> result;    // a row of the resized image
  LinearTaps columns, rows;
};

// `image` is the shape that the file has when it is resized, `cut` a part of that. The reader, not
// yet started, has one or three components. Throws FileError when the file is damaged.
void WriteJpegCut(JpegReader* reader, const ImageShape& image, const Cut& cut,
                  const Augment& augment, JpegCutScratch* scratch, CutPixels* to);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_JPEG_CUT_H_
