#include "layers/detection/boxes.h"

#include <cmath>

namespace doppio {
namespace {

double Width(const Box& box) { return box[2] - box[0]; }
double Height(const Box& box) { return box[3] - box[1]; }

// Returns center x, center y, width and height, the order of kCenterSize's code.
Box CenterSize(const Box& box) {
  return {(box[0] + box[2]) / 2, (box[1] + box[3]) / 2, Width(box), Height(box)};
}

}  // namespace

double Area(const Box& box) {
  return box[2] < box[0] || box[3] < box[1] ? 0 : Width(box) * Height(box);
}

double Overlap(const Box& a, const Box& b) {
  const Box both = {std::max(a[0], b[0]), std::max(a[1], b[1]), std::min(a[2], b[2]),
                    std::min(a[3], b[3])};
  if (!(Width(both) > 0 && Height(both) > 0)) return 0;
  const double common = Width(both) * Height(both);
  return common / (Area(a) + Area(b) - common);
}

bool CrossesImage(const Box& box) {
  return std::any_of(box.begin(), box.end(), [](double side) { return side < 0 || side > 1; });
}

Box BoxCode::Encode(const Box& prior, const Box& variance, const Box& box) const {
  const Box size = {Width(prior), Height(prior), Width(prior), Height(prior)};
  const Box to = CenterSize(box), from = CenterSize(prior);
  Box code;
  for (size_t i = 0; i < 4; ++i) {
    switch (type) {
      case BoxCodeType::kCorner:
        code[i] = box[i] - prior[i];
        break;
      case BoxCodeType::kCornerSize:
        code[i] = (box[i] - prior[i]) / size[i];
        break;
      case BoxCodeType::kCenterSize:
        code[i] = i < 2 ? (to[i] - from[i]) / size[i] : std::log(to[i] / from[i]);
        break;
    }
    if (!variance_in_target) code[i] /= variance[i];
  }
  return code;
}

Box BoxCode::Decode(const Box& prior, const Box& variance, const Box& code) const {
  const Box size = {Width(prior), Height(prior), Width(prior), Height(prior)};
  const Box from = CenterSize(prior);
  Box box = {};
  for (size_t i = 0; i < 4; ++i) {
    const double step = variance_in_target ? code[i] : variance[i] * code[i];
    switch (type) {
      case BoxCodeType::kCorner:
        box[i] = prior[i] + step;
        break;
      case BoxCodeType::kCornerSize:
        box[i] = prior[i] + step * size[i];
        break;
      case BoxCodeType::kCenterSize:
        box[i] = i < 2 ? from[i] + step * size[i] : std::exp(step) * from[i];
        break;
    }
  }
  if (type != BoxCodeType::kCenterSize) return box;
  return {box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2};
}

std::vector<int> SuppressOverlaps(const Box* boxes, const std::vector<int>& order, double threshold,
                                  double eta, int64_t most) {
  std::vector<int> kept;
  for (int i : order) {
    if (static_cast<int64_t>(kept.size()) >= most) break;
    const bool stays = std::all_of(kept.begin(), kept.end(), [&](int better) {
      return Overlap(boxes[i], boxes[better]) <= threshold;
    });
    if (!stays) continue;
    kept.push_back(i);
    if (eta < 1 && threshold > 0.5) threshold *= eta;
  }
  return kept;
}

}  // namespace doppio
