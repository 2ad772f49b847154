#include "layers/detection/detection_bottoms.h"

#include "core/net/contract/layer.h"

namespace doppio {

DetectionExtents ReadDetectionExtents(const LayerSpec& spec, const std::string& path,
                                      int64_t classes, bool share_location,
                                      const std::vector<Shape>& bottoms) {
  spec.RefuseIf(classes < 1, path + ".num_classes", spec.type(),
                " needs num_classes, which includes the background");
  DetectionExtents e;
  e.classes = classes;
  e.location_classes = share_location ? 1 : e.classes;
  e.images = bottoms[0].dim_or_1(0);
  const Shape& priors = bottoms[2];
  spec.RefuseIf(priors.rank() < 3 || priors[0] != 1 || priors[1] != 2 || priors.count(2) % 4 != 0,
                {"bottom", 2}, "priors must be 1 x 2 x 4P, as PriorBox makes them; '",
                spec.param.bottom(2), "' is ", priors.ToString());
  e.priors = priors.count(2) / 4;
  const auto check = [&](int i, const char* what, int64_t each) {
    const Shape& shape = bottoms[i];
    spec.RefuseIf(!(shape.dim_or_1(0) == e.images && shape.count() == e.images * e.priors * each),
                  {"bottom", i}, what, " '", spec.param.bottom(i), "' are ", shape.ToString(), "; ",
                  e.priors, " priors and ", e.classes, " classes need ", e.images, "x",
                  e.priors * each);
  };
  check(0, "locations", 4 * e.location_classes);
  check(1, "confidences", e.classes);
  return e;
}

void CheckRows(const LayerSpec& spec, const std::vector<Shape>& bottoms, int i, const char* what,
               int64_t width) {
  const Shape& shape = bottoms[i];
  spec.RefuseIf(!(shape.rank() > 0 && shape[shape.rank() - 1] == width), {"bottom", i}, what, " '",
                spec.param.bottom(i), "' are ", shape.ToString(), "; the last axis must have ",
                width, " numbers");
}

BoxCode ReadBoxCode(int type, bool variance_in_target) {
  switch (type) {
    case PriorBoxParameter::CENTER_SIZE:
      return {BoxCodeType::kCenterSize, variance_in_target};
    case PriorBoxParameter::CORNER_SIZE:
      return {BoxCodeType::kCornerSize, variance_in_target};
    default:
      return {BoxCodeType::kCorner, variance_in_target};
  }
}

}  // namespace doppio
