// The random changes by which NVCaffe's DetectNet augments its images, with the objects in them.
#ifndef DOPPIO_DATA_AUGMENT_DETECTNET_CHANGES_H_
#define DOPPIO_DATA_AUGMENT_DETECTNET_CHANGES_H_

#include <opencv2/core.hpp>
#include <vector>

#include "data/augment/detectnet_grid.h"
#include "data/record/draws.h"
#include "proto/detection.pb.h"

namespace doppio {

class TransformationParameter;

class DetectNetChanges {
 public:
  // The images get `size`. `transform` has the mean. Throws UserError if a parameter has no
  // meaning, and FileError if the mean file cannot be read.
  DetectNetChanges(const DetectNetAugmentationParameter& param,
                   const TransformationParameter& transform, cv::Size size);

  // Both return an image of the constructor's size without its mean, and change the boxes of
  // `objects` with it. `image` has three channels of floats, blue, green and red, from 0 to 255;
  // its pixels change.

  // Changes hue and saturation, scales, rotates, mirrors and shifts the image, each with its own
  // probability. Areas beyond the image become -127.5.
  cv::Mat Augment(cv::Mat image, Draws* draws, std::vector<DetectNetObject>* objects) const;
  // Scales the image to the size.
  cv::Mat Fit(cv::Mat image, std::vector<DetectNetObject>* objects) const;

 private:
  void ChangeColours(Draws* draws, cv::Mat* image) const;
  void SubtractMean(cv::Mat* image) const;
  void Rotate(double degrees, cv::Mat* image, std::vector<DetectNetObject>* objects) const;
  void Shift(Draws* draws, cv::Mat* image, std::vector<DetectNetObject>* objects) const;

  const DetectNetAugmentationParameter param_;
  const cv::Size size_;
  cv::Scalar mean_;     // of each channel
  cv::Mat mean_image_;  // used instead of mean_ unless it is empty
};

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_DETECTNET_CHANGES_H_
