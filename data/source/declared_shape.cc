#include "data/source/declared_shape.h"

#include "data/augment/random_size.h"
#include "data/augment/resize_image.h"
#include "proto/data.pb.h"

namespace doppio {

bool SizesVary(const TransformationParameter& transform) {
  if (transform.has_resize_param()) return !GivesOneSize(transform.resize_param());
  return HasRandomSize(transform);
}

ImageShape DeclaredShape(const TransformationParameter& transform, ImageShape image) {
  const auto set = [&image](const ResizeParameter& resize) {
    image.height = static_cast<int>(resize.height());
    image.width = static_cast<int>(resize.width());
  };
  const auto forget = [&image] { image.height = image.width = 0; };
  if (transform.has_random_aspect_ratio_param()) {
    set(transform.random_aspect_ratio_param().resize_param());
  }
  if (HasRandomSize(transform) || transform.has_expand_param()) forget();
  if (transform.has_resize_param()) {
    forget();
    if (GivesOneSize(transform.resize_param())) set(transform.resize_param());
  }
  if (transform.crop_size() > 0) {
    image.height = image.width = static_cast<int>(transform.crop_size());
  }
  if (transform.crop_h() > 0) image.height = static_cast<int>(transform.crop_h());
  if (transform.crop_w() > 0) image.width = static_cast<int>(transform.crop_w());
  return image;
}

}  // namespace doppio
