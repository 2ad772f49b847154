// The form of PriorBox: the boxes around each position of a feature map. SSD predicts objects
// relative to them. Source: W. Liu et al., "SSD", 2016, section 2.2. Numbers follow SSD's Caffe,
// which truncates sizes to whole pixels.
#ifndef DOPPIO_LAYERS_DETECTION_PRIOR_BOX_FORM_H_
#define DOPPIO_LAYERS_DETECTION_PRIOR_BOX_FORM_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace doppio {

struct PriorBoxForm {
  struct Size {
    double width, height;  // pixels
  };
  std::vector<Size> boxes;  // of one position, in order
  std::vector<float> variance;
  int64_t rows = 0, columns = 0;  // positions
  double image_width = 0, image_height = 0, step_w = 0, step_h = 0;
  double offset = 0;
  bool clip = false;

  int64_t count() const { return rows * columns * static_cast<int64_t>(boxes.size()); }

  // Returns 2 x 4 count() values: corners, then variances.
  std::vector<float> Values() const {
    std::vector<float> values;
    values.reserve(static_cast<size_t>(8 * count()));
    const auto add = [&](double corner) {
      values.push_back(static_cast<float>(clip ? std::min(std::max(corner, 0.0), 1.0) : corner));
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
