// PriorBox, read from a file: the boxes around each position of a map of features, which SSD
// predicts objects relative to. Source: W. Liu et al., "SSD", 2016, section 2.2; numbers are those
// of SSD's Caffe, which cuts sizes to whole pixels.
#ifndef DOPPIO_LAYERS_DETECTION_PRIOR_BOX_FORM_H_
#define DOPPIO_LAYERS_DETECTION_PRIOR_BOX_FORM_H_

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/net/graph/layer.h"

namespace doppio {

struct PriorBoxForm {
  struct Size {
    double width, height;  // pixels
  };
  std::vector<Size> boxes;  // of a position, in order
  std::vector<float> variance;
  int64_t rows = 0, columns = 0;  // positions
  double image_width = 0, image_height = 0, step_w = 0, step_h = 0;
  double offset = 0;
  bool clip = false;

  int64_t count() const { return rows * columns * static_cast<int64_t>(boxes.size()); }

  // 2 x 4 count(): corners, then variances.
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

namespace prior_box {

constexpr char kPath[] = "prior_box_param.";

inline void CheckPositive(const LayerSpec& spec, const std::string& name, double value,
                          int index = 0) {
  if (value > 0) return;
  throw spec.Mistake(kPath + name,
                     name + " is " + std::to_string(value) + "; give a positive number", index);
}

// The shapes other than the square: each ratio once.
inline std::vector<double> Ratios(const LayerSpec& spec) {
  const PriorBoxParameter& p = spec.param.prior_box_param();
  std::vector<double> ratios;
  const auto add = [&](double ratio) {
    const auto same = [=](double known) { return std::fabs(known - ratio) < 1e-6; };
    if (same(1) || std::any_of(ratios.begin(), ratios.end(), same)) return false;
    ratios.push_back(ratio);
    return true;
  };
  for (int i = 0; i < p.aspect_ratio_size(); ++i) {
    CheckPositive(spec, "aspect_ratio", static_cast<double>(p.aspect_ratio(i)), i);
    if (add(static_cast<double>(p.aspect_ratio(i))) && p.flip()) {
      ratios.push_back(1 / static_cast<double>(p.aspect_ratio(i)));
    }
  }
  return ratios;
}

inline std::vector<PriorBoxForm::Size> Sizes(const LayerSpec& spec) {
  const PriorBoxParameter& p = spec.param.prior_box_param();
  if (p.min_size_size() == 0)
    throw spec.Mistake(std::string(kPath) + "min_size", "PriorBox needs a min_size, in pixels");
  if (p.max_size_size() != 0 && p.max_size_size() != p.min_size_size()) {
    throw spec.Mistake(std::string(kPath) + "max_size",
                       "there are " + std::to_string(p.max_size_size()) + " max_size, but " +
                           std::to_string(p.min_size_size()) +
                           " min_size; give one for each, or none");
  }
  const std::vector<double> ratios = Ratios(spec);
  std::vector<PriorBoxForm::Size> boxes;
  for (int i = 0; i < p.min_size_size(); ++i) {
    const double least = std::trunc(static_cast<double>(p.min_size(i)));
    if (!(least >= 1)) {
      throw spec.Mistake(std::string(kPath) + "min_size",
                         "min_size is cut to whole pixels; give 1 at least", i);
    }
    boxes.push_back({least, least});
    if (p.max_size_size() > 0) {
      if (!(p.max_size(i) > p.min_size(i))) {
        throw spec.Mistake(std::string(kPath) + "max_size",
                           "max_size is to be larger than its min_size", i);
      }
      const double size = std::sqrt(least * std::trunc(static_cast<double>(p.max_size(i))));
      boxes.push_back({size, size});
    }
    for (double ratio : ratios)
      boxes.push_back({least * std::sqrt(ratio), least / std::sqrt(ratio)});
  }
  return boxes;
}

inline std::vector<float> Variance(const LayerSpec& spec) {
  const PriorBoxParameter& p = spec.param.prior_box_param();
  for (int i = 0; i < p.variance_size(); ++i)
    CheckPositive(spec, "variance", static_cast<double>(p.variance(i)), i);
  if (p.variance_size() == 4) return {p.variance().begin(), p.variance().end()};
  if (p.variance_size() > 1) {
    throw spec.Mistake(
        std::string(kPath) + "variance",
        "give one variance, or four: of the two numbers of the place, then of the size");
  }
  return std::vector<float>(4, p.variance_size() == 1 ? p.variance(0) : 0.1f);
}

// `both`, or `h` and `w`; false: none is given.
inline bool ReadPair(const LayerSpec& spec, const std::string& both, const std::string& h,
                     const std::string& w, bool has_both, bool has_h, bool has_w) {
  if (has_h != has_w)
    throw spec.Mistake(kPath + (has_h ? h : w), h + " and " + w + " are both needed");
  if (has_both && has_h)
    throw spec.Mistake(kPath + both, "give " + both + ", or " + h + " and " + w);
  return has_both || has_h;
}

}  // namespace prior_box

inline PriorBoxForm ReadPriorBox(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const PriorBoxParameter& p = spec.param.prior_box_param();
  for (int i = 0; i < 2; ++i) {
    const Shape& bottom = bottoms[static_cast<size_t>(i)];
    if (bottom.rank() == 4) continue;
    throw spec.Mistake("bottom",
                       "PriorBox takes a map of features and the images, both of 4 axes; '" +
                           spec.param.bottom(i) + "' is " + bottom.ToString(),
                       i);
  }
  PriorBoxForm form;
  form.boxes = prior_box::Sizes(spec);
  form.variance = prior_box::Variance(spec);
  form.rows = bottoms[0][2];
  form.columns = bottoms[0][3];
  form.offset = static_cast<double>(p.offset());
  form.clip = p.clip();
  form.image_height = static_cast<double>(bottoms[1][2]);
  form.image_width = static_cast<double>(bottoms[1][3]);
  if (prior_box::ReadPair(spec, "img_size", "img_h", "img_w", p.has_img_size(), p.has_img_h(),
                          p.has_img_w())) {
    form.image_height = p.has_img_size() ? p.img_size() : p.img_h();
    form.image_width = p.has_img_size() ? p.img_size() : p.img_w();
    prior_box::CheckPositive(spec, p.has_img_size() ? "img_size" : "img_h", form.image_height);
    prior_box::CheckPositive(spec, p.has_img_size() ? "img_size" : "img_w", form.image_width);
  }
  form.step_h = form.image_height / static_cast<double>(form.rows);
  form.step_w = form.image_width / static_cast<double>(form.columns);
  if (prior_box::ReadPair(spec, "step", "step_h", "step_w", p.has_step(), p.has_step_h(),
                          p.has_step_w())) {
    form.step_h = static_cast<double>(p.has_step() ? p.step() : p.step_h());
    form.step_w = static_cast<double>(p.has_step() ? p.step() : p.step_w());
    prior_box::CheckPositive(spec, p.has_step() ? "step" : "step_h", form.step_h);
    prior_box::CheckPositive(spec, p.has_step() ? "step" : "step_w", form.step_w);
  }
  return form;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_PRIOR_BOX_FORM_H_
