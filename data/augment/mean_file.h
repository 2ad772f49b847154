// Reads and writes Caffe's mean images: binary BlobProtos that hold one image.
#ifndef DOPPIO_DATA_AUGMENT_MEAN_FILE_H_
#define DOPPIO_DATA_AUGMENT_MEAN_FILE_H_

#include <string>
#include <vector>

#include "data/record/record.h"

namespace doppio {

struct MeanImage {
  ImageShape shape;
  std::vector<float> values;  // planes

  // Returns the part of `height` x `width` pixels in the middle, which must not be larger.
  MeanImage Centre(int height, int width) const;
  // Returns the mean of each channel.
  std::vector<double> ChannelMeans() const;
};

// Throws FileError if the file cannot be read or is not a mean image.
MeanImage ReadMeanFile(const std::string& path);
// Writes the shape as four axes (num, channels, height, width), as BVLC Caffe writes and reads it.
// Throws FileError.
void WriteMeanFile(const MeanImage& mean, const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_MEAN_FILE_H_
