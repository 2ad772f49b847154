// transform_param: crop, mirror, mean, scale, in one pass from pixels to the floats of a batch.
// A pure function of the image and of a random key, so the result does not depend on who computes
// it.
#ifndef DOPPIO_DATA_AUGMENT_H_
#define DOPPIO_DATA_AUGMENT_H_

#include <vector>

#include "core/base/random.h"
#include "data/record.h"
#include "proto/state.pb.h"

namespace doppio {

class TransformationParameter;

class Augment {
 public:
  // Reads the mean file. Throws UserError on contradictory settings or ones that are not
  // implemented, FileError when the mean cannot be read.
  Augment(const TransformationParameter& parameter, Phase phase, const Random& random);

  // What an image of this shape becomes. Throws UserError when crop or mean do not fit it.
  ImageShape OutputShape(const ImageShape& image) const;
  // Writes OutputShape(image.shape).count() floats, planar. Crops at random in training, at the
  // centre in testing; mirrors at random in both, as Caffe does. `sample` is the global index of
  // the sample.
  void Apply(const Pixels& image, uint64_t sample, float* to) const;

  // force_color and force_gray: what encoded images should be decoded to.
  DecodeOptions::Color color() const { return color_; }

 private:
  void ReadMeanFile(const std::string& path);
  template <class T, int kStep>
  void Write(const T* from, const Pixels& image, uint64_t sample, float* to) const;

  float scale_;
  bool mirror_;
  bool random_crop_;
  int crop_height_ = 0, crop_width_ = 0;  // 0: not cropped
  DecodeOptions::Color color_ = DecodeOptions::Color::kAsStored;
  std::vector<float> mean_values_;  // none, one, or one per channel
  std::vector<float> mean_image_;   // instead of mean_values_
  ImageShape mean_shape_;
  std::string mean_file_;
  Random random_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_H_
