// transform_param: crop, mirror, mean, scale, from pixels to the floats of a batch. A pure function
// of the image and of a random key, so the result does not depend on who computes it.
//
// In two steps: a sample is cut out of its image, and stays bytes as long as it can, a quarter of
// the memory; mirroring, mean and scale come when it is written to where it is used. The crop is
// which rows and columns are copied, so that nothing else of the image is kept, or sent to a GPU.
#ifndef DOPPIO_DATA_AUGMENT_AUGMENT_H_
#define DOPPIO_DATA_AUGMENT_AUGMENT_H_

#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "data/source/record.h"
#include "proto/augment.pb.h"
#include "proto/state.pb.h"

namespace doppio {

class TransformationParameter;

// The part of an image that a sample is made of.
struct Cut {
  ImageShape shape;
  int top = 0, left = 0;
  bool mirrored = false;
};

// A sample on its way, planar. Keeps its memory from one to the next.
struct CutPixels {
  bool finished = false;  // floats, all applied; else bytes
  bool mirrored = false;  // bytes: the sample has their rows in reverse
  std::vector<uint8_t> bytes;
  std::vector<float> floats;
};

// Throws UserError for what dialects have in transform_param that would change the images and is
// not implemented, or left to layers of other types.
void RefuseUnknownTransforms(const TransformationParameter& parameter);
// The same, and for contradictory settings.
void CheckTransforms(const TransformationParameter& parameter);

class Augment {
 public:
  // Reads the mean file. Throws UserError as CheckTransforms does, FileError when the mean cannot
  // be read. `sizes_vary`: images have sizes that were drawn, so a mean of their size there is not;
  // the middle of the one there is belongs to each cut. `mean_at`: the place of mean_file, which
  // errors about the mean point at.
  Augment(const TransformationParameter& parameter, Phase phase, const Random& random,
          bool sizes_vary = false, const SourceLoc& mean_at = {});

  // What an image of this shape becomes. Throws UserError when crop or mean do not fit it.
  ImageShape OutputShape(const ImageShape& image) const;
  // Crops at random in training, at the centre in testing; mirrors at random in both, as Caffe
  // does. `sample` is the global index of the sample. Throws as OutputShape does.
  Cut CutOf(const ImageShape& image, uint64_t sample) const;
  void Apply(const Pixels& image, uint64_t sample, CutPixels* to) const;
  // Apply, for who has no more than a row of the image at a time: Start, then row `y` of each
  // channel. `pixels` points to the leftmost one in the cut: gray, or words of blue, green, red
  // from the lowest byte up.
  void Start(const Cut& cut, CutPixels* to) const;
  void WriteRow(const uint8_t* pixels, const Cut& cut, int channel, int y, CutPixels* to) const;
  void WriteRow(const uint32_t* pixels, const Cut& cut, int channel, int y, CutPixels* to) const;
  // Writes cut.count() numbers. T: float, double.
  template <class T>
  void Finish(const CutPixels& from, const ImageShape& cut, T* to) const;

  // What Finish does to bytes, mirrored or not: (byte - mean of the channel) * scale.
  float scale() const { return scale_; }
  std::vector<float> ChannelMeans(int channels) const;

  // What of an image's objects is in the cut, in its fractions, as emit_constraint says.
  std::vector<ObjectBox> ObjectsIn(const Cut& cut, const ImageShape& image,
                                   const std::vector<ObjectBox>& objects) const;

  // force_color and force_gray: what encoded images should be decoded to.
  DecodeOptions::Color color() const { return color_; }

 private:
  [[noreturn]] void RefuseMean(const std::string& why) const;
  float MeanOf(int channel) const;
  template <class Values>
  void Take(const Values& values, const Cut& cut, int channel, int y, CutPixels* to) const;
  template <int kStep, class T>
  void TakeAll(const T* from, const ImageShape& image, uint64_t sample, CutPixels* to) const;

  float scale_;
  bool mirror_;
  bool random_crop_;
  bool sizes_vary_;
  int crop_height_ = 0, crop_width_ = 0;  // 0: not cropped
  DecodeOptions::Color color_ = DecodeOptions::Color::kAsStored;
  std::vector<float> mean_values_;  // none, one, or one per channel
  std::vector<float> mean_image_;   // instead of mean_values_
  ImageShape mean_shape_;
  std::string mean_file_;
  SourceLoc mean_at_;
  Random random_;
  std::optional<EmitConstraint> emit_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_AUGMENT_H_
