#include "data/record/boxes.h"

#include <algorithm>
#include <cmath>

#include "proto/augment.pb.h"

namespace doppio {
namespace {

float SharedArea(const Box& a, const Box& b) {
  const Box shared = {std::max(a.xmin, b.xmin), std::max(a.ymin, b.ymin), std::min(a.xmax, b.xmax),
                      std::min(a.ymax, b.ymax)};
  return shared.area();
}

bool Counts(const Box& frame, const Box& box, const EmitConstraint& constraint) {
  if (constraint.emit_type() == EmitConstraint::MIN_OVERLAP) {
    return CoverageOf(box, frame) > constraint.emit_overlap();
  }
  const float x = (box.xmin + box.xmax) / 2, y = (box.ymin + box.ymax) / 2;
  return x >= frame.xmin && x <= frame.xmax && y >= frame.ymin && y <= frame.ymax;
}

}  // namespace

bool IsUsable(const Box& box) {
  const bool finite = std::isfinite(box.xmin) && std::isfinite(box.ymin) &&
                      std::isfinite(box.xmax) && std::isfinite(box.ymax);
  return finite && std::max(box.xmin, 0.0f) < std::min(box.xmax, 1.0f) &&
         std::max(box.ymin, 0.0f) < std::min(box.ymax, 1.0f);
}

Box Clipped(const Box& box) {
  const auto clip = [](float value) { return std::clamp(value, 0.0f, 1.0f); };
  return {clip(box.xmin), clip(box.ymin), clip(box.xmax), clip(box.ymax)};
}

float OverlapOf(const Box& a, const Box& b) {
  const float shared = SharedArea(a, b);
  return shared > 0 ? shared / (a.area() + b.area() - shared) : 0;
}

float CoverageOf(const Box& part, const Box& whole) {
  const float shared = SharedArea(part, whole);
  return shared > 0 ? shared / part.area() : 0;
}

bool Project(const Box& frame, const Box& box, Box* projected) {
  if (box.xmin >= frame.xmax || box.xmax <= frame.xmin || box.ymin >= frame.ymax ||
      box.ymax <= frame.ymin) {
    return false;
  }
  const auto x = [&](float value) { return (value - frame.xmin) / frame.width(); };
  const auto y = [&](float value) { return (value - frame.ymin) / frame.height(); };
  *projected = Clipped({x(box.xmin), y(box.ymin), x(box.xmax), y(box.ymax)});
  return projected->area() > 0;
}

std::vector<ObjectBox> ObjectsIn(const Box& frame, const std::vector<ObjectBox>& objects,
                                 const EmitConstraint* constraint) {
  std::vector<ObjectBox> inside;
  for (ObjectBox object : objects) {
    if (constraint != nullptr && !Counts(frame, object.box, *constraint)) continue;
    if (Project(frame, object.box, &object.box)) inside.push_back(object);
  }
  return inside;
}

}  // namespace doppio
