// Caffe's mean images: a binary BlobProto of one image.
#ifndef DOPPIO_DATA_AUGMENT_MEAN_FILE_H_
#define DOPPIO_DATA_AUGMENT_MEAN_FILE_H_

#include <string>
#include <vector>

#include "data/source/record.h"

namespace doppio {

struct MeanImage {
  ImageShape shape;
  std::vector<float> values;  // planes

  std::vector<double> ChannelMeans() const;
};

// Throws FileError when it is none.
MeanImage ReadMeanFile(const std::string& path);
// With the extents of four axes, as BVLC Caffe writes and reads it.
void WriteMeanFile(const MeanImage& mean, const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_MEAN_FILE_H_
