// The form of PriorBox: the boxes around each position of a feature map, relative to which SSD
// predicts objects. Source: W. Liu et al., "SSD", 2016, section 2.2. The results equal those of
// SSD's Caffe, which truncates sizes to whole pixels.
#ifndef DOPPIO_LAYERS_DETECTION_PRIOR_BOX_FORM_H_
#define DOPPIO_LAYERS_DETECTION_PRIOR_BOX_FORM_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace doppio {

struct PriorBoxForm {
  struct Size {
    double width, height;  // in pixels
  };
  std::vector<Size> boxes;  // the boxes of one position, in order
  std::vector<float> variance;
  int64_t rows = 0, columns = 0;  // extents of the feature map
  // In pixels.
  double image_width = 0, image_height = 0, step_w = 0, step_h = 0;
  // Position of a box center within its step; 0.5 is the middle.
  double offset = 0;
  // If true, coordinates are clipped to [0, 1].
  bool clip = false;

  // Returns the number of boxes of the whole map.
  int64_t count() const { return rows * columns * static_cast<int64_t>(boxes.size()); }

  // Returns the values of the top: the corners of all boxes (4 count() values), then their
  // variances (4 count() values).
  template <class T>
  std::vector<T> Values() const {
    std::vector<T> values;
    values.reserve(8 * count());
    const auto add = [&](double corner) {
      values.push_back(static_cast<T>(clip ? std::min(std::max(corner, 0.0), 1.0) : corner));
    };
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const double x = (static_cast<double>(j) + offset) * step_w,
                     y = (static_cast<double>(i) + offset) * step_h;
        for (const Size& box : boxes) {
          add((x - box.width / 2) / image_width);
          add((y - box.height / 2) / image_height);
          add((x + box.width / 2) / image_width);
          add((y + box.height / 2) / image_height);
        }
      }
    }
    for (int64_t i = 0; i < count(); ++i)
      values.insert(values.end(), variance.begin(), variance.end());
    return values;
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_PRIOR_BOX_FORM_H_
