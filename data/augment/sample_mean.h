// The mean of mean_value or mean_file, which is subtracted from samples.
#ifndef DOPPIO_DATA_AUGMENT_SAMPLE_MEAN_H_
#define DOPPIO_DATA_AUGMENT_SAMPLE_MEAN_H_

#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "data/augment/mean_file.h"
#include "data/record/record.h"

namespace doppio {

class TransformationParameter;

// Const methods may be called from several threads at once.
class SampleMean {
 public:
  SampleMean() = default;  // zero
  // The mean of `parameter`, whose fields do not contradict each other. If `centred` is true,
  // samples take the centre of the mean image, otherwise the part where they were cut. Errors point
  // at `at`, the location of mean_file. Throws FileError if the mean cannot be read.
  SampleMean(const TransformationParameter& parameter, bool centred, const SourceLoc& at);
  // Replaces the mean by an image, of which samples take the centre.
  void Use(MeanImage image) {
    image_ = std::move(image);
    centred_ = true;
  }

  bool is_image() const { return !image_.values.empty(); }
  // Returns the mean of a channel, unless the mean is an image.
  float Of(int channel) const {
    if (values_.empty()) return 0;
    return values_[values_.size() == 1 ? 0 : static_cast<size_t>(channel)];
  }
  // Returns row `y` of a channel of the mean image, for a sample of this shape that was cut at
  // (`top`, `left`).
  const float* Row(const ImageShape& sample, int top, int left, int channel, int y) const;

  // Throw UserError if the mean does not fit images or samples of this shape.
  void CheckImage(const ImageShape& image) const;
  void CheckSample(const ImageShape& sample) const;

 private:
  [[noreturn]] void Refuse(const std::string& why) const;

  std::vector<float> values_;  // empty, one value, or one per channel
  MeanImage image_;            // if not empty, used instead of values_
  bool centred_ = false;
  std::string file_;
  SourceLoc at_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_SAMPLE_MEAN_H_
