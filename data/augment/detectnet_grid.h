// The labels with which NVCaffe's DetectNet trains: the objects of an image as values on a grid of
// square cells. The results equal those of NVCaffe's layer DetectNetTransformation.
#ifndef DOPPIO_DATA_AUGMENT_DETECTNET_GRID_H_
#define DOPPIO_DATA_AUGMENT_DETECTNET_GRID_H_

#include <cstdint>
#include <map>
#include <opencv2/core.hpp>
#include <vector>

#include "proto/detection.pb.h"

namespace doppio {

struct DetectNetObject {
  cv::Rect2d box;      // in pixels
  int64_t source = 0;  // the number of its class in the labels of DIGITS
};

// Reads the objects of an image from `count` numbers, as DIGITS stores them: a row of 16 numbers,
// of which the first two are the number of objects and 16; then a row for each object: x, y, width,
// height, angle, class and ten numbers that have no effect. Throws UserError.
std::vector<DetectNetObject> ReadDetectNetObjects(const float* values, int64_t count);

class DetectNetGrid {
 public:
  // Throws UserError if a parameter has no meaning.
  explicit DetectNetGrid(const DetectNetGroundTruthParameter& param);

  // Extents of the labels. The grid covers an image of image_size_x x image_size_y pixels.
  int64_t channels() const { return kClasses + classes_; }
  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

  // Writes channels() x height() x width() values. In the cells that an object covers:
  //   0: 1
  //   1 to 4: left, top, right, bottom of the object in pixels, from the cell's upper left corner
  //   5, 6: 1 / width and 1 / height of the object
  //   7: area of a cell / area of the object's coverage; without obj_norm at least 1
  //   8 + c: 1 for the object's class c, and 0 for the others
  // The values of other cells are 0. If objects cover the same cell, the last one counts.
  void Write(const std::vector<DetectNetObject>& objects, float* values) const;

 private:
  static constexpr int64_t kClasses = 8;  // the channel of class 0

  void WriteObject(const cv::Rect2d& box, int64_t object_class, float* values) const;
  // Returns the part of a box around its center that counts as covered.
  cv::Rect2d CoverageOf(const cv::Rect2d& box) const;

  const DetectNetGroundTruthParameter param_;
  const double stride_;
  int64_t height_ = 0, width_ = 0, classes_ = 1;
  std::map<int64_t, int64_t> class_of_;  // by DetectNetObject::source
};

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_DETECTNET_GRID_H_
