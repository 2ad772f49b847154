// A mean image as Caffe's compute_image_mean writes it: a binary BlobProto.
#ifndef DOPPIO_DATA_MEAN_FILE_H_
#define DOPPIO_DATA_MEAN_FILE_H_

#include <string>
#include <vector>

#include "data/record.h"

namespace doppio {

struct MeanImage {
  ImageShape shape;
  std::vector<float> values;  // planes
};

// Throws FileError when the file is missing or holds something else.
MeanImage ReadMeanFile(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_DATA_MEAN_FILE_H_
