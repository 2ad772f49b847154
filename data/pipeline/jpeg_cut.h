// The fast path from a JPEG file to a sample: decodes only the rows and columns that the crop
// needs, and resizes and cuts each row as it arrives. Holds no whole image, and does not allocate
// once the buffers have grown. The values are those of Decode() followed by Augment::Apply(), bit
// for bit.
#ifndef DOPPIO_DATA_PIPELINE_JPEG_CUT_H_
#define DOPPIO_DATA_PIPELINE_JPEG_CUT_H_

#include <vector>

#include "data/augment/augment.h"
#include "data/augment/resize.h"
#include "data/decode/jpeg_reader.h"

namespace doppio {

// Scratch memory of one worker, reused from file to file.
struct JpegCutScratch {
  std::vector<uint32_t> source;    // a decoded row
  std::vector<int16_t> across[2];  // an even and an odd row, resized along x
  std::vector<uint32_t> result;    // a row of the resized image
  LinearTaps columns, rows;
};

// Writes the sample that `cut` selects. `image` is the shape of the file's image after resizing,
// and `cut` is a part of it. `reader` must not have been started and must have one or three
// components. Throws FileError if the file is damaged.
void WriteJpegCut(JpegReader* reader, const ImageShape& image, const Cut& cut,
                  const Augment& augment, JpegCutScratch* scratch, CutPixels* to);

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_JPEG_CUT_H_
