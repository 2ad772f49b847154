#include "data/augment/mean_file.h"

#include <algorithm>

#include "core/base/content/content_kind.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "proto/data.pb.h"

namespace doppio {

MeanImage MeanImage::Centre(int height, int width) const {
  MeanImage centre;
  centre.shape = {shape.channels, height, width};
  const int top = (shape.height - height) / 2, left = (shape.width - width) / 2;
  for (int c = 0; c < shape.channels; ++c) {
    for (int y = top; y < top + height; ++y) {
      const auto row = values.begin() + (int64_t{c} * shape.height + y) * shape.width + left;
      centre.values.insert(centre.values.end(), row, row + width);
    }
  }
  return centre;
}

std::vector<double> MeanImage::ChannelMeans() const {
  const int64_t plane = int64_t{shape.height} * shape.width;
  std::vector<double> means;
  for (int c = 0; c < shape.channels; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < plane; ++i) sum += values[c * plane + i];
    means.push_back(sum / static_cast<double>(plane));
  }
  return means;
}

MeanImage ReadMeanFile(const std::string& path) {
  CheckExists(path);
  const std::string content = ReadFile(path);
  const std::string found =
      KindOfContent(content) == ContentKind::kMean ? "" : DescribeContent(content);
  BlobProto blob;
  if (!found.empty() || !blob.ParseFromString(content)) {
    throw FileError("mean file '", path, "' is not a Caffe mean (a binary BlobProto)",
                    found.empty() ? "" : ": " + found);
  }
  std::vector<int64_t> dims(blob.shape().dim().begin(), blob.shape().dim().end());
  if (!blob.has_shape()) dims = {blob.num(), blob.channels(), blob.height(), blob.width()};
  if (dims.size() == 4 && dims[0] == 1) dims.erase(dims.begin());
  // Limit on each extent, so that products of extents do not overflow.
  constexpr int64_t kMax = 65535;
  const bool image = dims.size() == 3 && std::all_of(dims.begin(), dims.end(), [](int64_t dim) {
                       return dim >= 1 && dim <= kMax;
                     });
  if (!image) throw FileError("mean file '", path, "' does not hold one image");
  MeanImage mean;
  mean.shape = {static_cast<int>(dims[0]), static_cast<int>(dims[1]), static_cast<int>(dims[2])};
  mean.values.assign(blob.data().begin(), blob.data().end());
  if (mean.values.empty()) mean.values.assign(blob.double_data().begin(), blob.double_data().end());
  if (mean.values.empty() || static_cast<int64_t>(mean.values.size()) != mean.shape.count()) {
    throw FileError("mean file '", path, "' holds ", mean.values.size(),
                    " values, but its shape is ", mean.shape.ToString());
  }
  return mean;
}

void WriteMeanFile(const MeanImage& mean, const std::string& path) {
  BlobProto blob;
  blob.set_num(1);
  blob.set_channels(mean.shape.channels);
  blob.set_height(mean.shape.height);
  blob.set_width(mean.shape.width);
  blob.mutable_data()->Add(mean.values.begin(), mean.values.end());
  WriteFileAtomically(path, blob.SerializeAsString());
}

}  // namespace doppio
