// The inputs of a net that finds objects.
#ifndef DOPPIO_TOOLS_DETECT_DETECT_INPUTS_H_
#define DOPPIO_TOOLS_DETECT_DETECT_INPUTS_H_

#include <string>

#include "core/net/spec/spec.h"
#include "data/decode/decode.h"

namespace doppio {

struct DetectInputs {
  std::string data, info;  // names of the blobs; `info` is "" if the net has no im_info
  ImageShape image;        // of an image of `data`
};

// Finds the inputs of the net and sets their shapes: `batch` images, or one if there is im_info,
// and the height and width of `image`, unless these are 0. Throws UserError unless the net has
// exactly one input that can hold images, and no other input than im_info.
DetectInputs SetDetectInputs(int64_t batch, const ImageShape& image, NetSpec* net);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DETECT_DETECT_INPUTS_H_
