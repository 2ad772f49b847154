// Applies transform_param (crop, mirror, mean, scale, std) to turn pixels into the floats of a
// batch. The result is a pure function of the image and a random key, so it does not depend on the
// thread or rank that computes it.
//
// The work is done in two steps. The first step cuts a sample out of its image; the sample stays in
// bytes if possible, which takes a quarter of the memory of floats. The second step mirrors the
// sample, subtracts the mean and scales, and writes the result to its destination. Only the rows
// and columns inside the crop are copied, so nothing else of the image is kept or sent to a GPU.
#ifndef DOPPIO_DATA_AUGMENT_AUGMENT_H_
#define DOPPIO_DATA_AUGMENT_AUGMENT_H_

#include <optional>
#include <utility>
#include <vector>

#include "core/base/channel_scale.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "data/augment/sample_mean.h"
#include "data/record/record.h"
#include "proto/augment.pb.h"
#include "proto/state.pb.h"

namespace doppio {

class TransformationParameter;

// The part of an image that becomes a sample. `shape`, `top` and `left` are in pixels.
struct Cut {
  ImageShape shape;
  int top = 0, left = 0;
  // The sample is the part with rows and columns swapped, then with its rows in reverse order, then
  // with each row mirrored, as far as these are true.
  bool transposed = false, flipped = false, mirrored = false;
};

// A sample between the two steps, in planes. Reused for one sample after another to avoid
// allocations.
struct CutPixels {
  bool finished = false;  // true: floats, with everything applied; false: bytes
  bool mirrored = false;  // for bytes: Finish has to reverse their rows
  std::vector<uint8_t> bytes;
  std::vector<float> floats;
};

// Throws UserError for fields of transform_param that would change the images but that are not
// implemented, or that belong to layers of other types than WindowData.
void RefuseUnknownTransforms(const TransformationParameter& parameter);
// Throws UserError for fields that Augment does not apply, and for contradictory settings.
void CheckTransforms(const TransformationParameter& parameter);

// Const methods may be called from several threads at once.
class Augment {
 public:
  // Reads the mean file. Set `sizes_vary` if images have random sizes: then there is no mean of the
  // same size, and the centre of the mean image is used for each cut. Errors about the mean point
  // at `mean_at`, the location of mean_file. Throws UserError as CheckTransforms does, and
  // FileError if the mean cannot be read.
  Augment(const TransformationParameter& parameter, Phase phase, const Random& random,
          bool sizes_vary = false, const SourceLoc& mean_at = {});

  // Draws crops and mirrors from `random` from now on, and crops that begin at multiples of
  // `crop_step` pixels.
  void Join(const Random& random, int crop_step);
  // Subtracts `mean` from now on, of which each sample takes the centre.
  void UseMean(MeanImage mean) { mean_.Use(std::move(mean)); }

  // Returns the shape of a sample cut from an image of this shape. Throws UserError if crop, mean
  // or quarter_turns do not fit the image.
  ImageShape OutputShape(const ImageShape& image) const;
  // Chooses the cut of sample `sample`, a global index. Crops are random in training and central in
  // testing; mirroring is random in both, as in Caffe. flip and quarter_turns act in training.
  // Throws as OutputShape does.
  Cut CutOf(const ImageShape& image, uint64_t sample) const;
  // Cuts the sample out of `image`: the first step. Throws as OutputShape does.
  void Apply(const Pixels& image, uint64_t sample, CutPixels* to) const;
  // The same as Apply, for callers that have one row of the image at a time: call Start, then
  // WriteRow for row `y` of each channel. `pixels` points to the leftmost pixel of the cut: gray
  // bytes, or words with blue, green and red from the lowest byte up.
  void Start(const Cut& cut, CutPixels* to) const;
  void WriteRow(const uint8_t* pixels, const Cut& cut, int channel, int y, CutPixels* to) const;
  void WriteRow(const uint32_t* pixels, const Cut& cut, int channel, int y, CutPixels* to) const;
  // Performs the second step and writes cut.count() numbers to `to`, in planes. T is float or
  // double.
  template <class T>
  void Finish(const CutPixels& from, const ImageShape& cut, T* to) const;

  // The constants with which Finish converts a byte, mirrored or not: (byte - mean) * scale, each
  // of the channel.
  std::vector<float> ChannelScales(int channels) const;
  std::vector<float> ChannelMeans(int channels) const;

  // Returns the objects inside the cut, as emit_constraint selects them, in fractions of the cut.
  // Turns and mirrors the boxes as the cut.
  std::vector<ObjectBox> ObjectsIn(const Cut& cut, const ImageShape& image,
                                   const std::vector<ObjectBox>& objects) const;

  // Returns the colour to which encoded images should be decoded, from force_color and force_gray.
  DecodeOptions::Color color() const { return color_; }

 private:
  template <class Values>
  void Take(const Values& values, const Cut& cut, int channel, int y, CutPixels* to) const;
  template <int kStep, class T>
  void TakeAll(const T* from, const ImageShape& image, uint64_t sample, CutPixels* to) const;

  void TurnAtRandom(uint64_t sample, Cut* cut) const;

  ChannelScale scale_;
  bool mirror_, flip_, quarter_turns_;
  bool random_crop_;
  int crop_height_ = 0, crop_width_ = 0;  // 0: no crop
  DecodeOptions::Color color_ = DecodeOptions::Color::kAsStored;
  SampleMean mean_;
  Random random_;
  int crop_step_ = 1;
  std::optional<EmitConstraint> emit_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_AUGMENT_H_
