#include "data/augment/declared_shape.h"

#include "data/augment/transforms.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

void Declare(const TransformationParameter& transform, ImageShape* image) {
  for (const Transform* asked : RequestedTransforms(transform)) {
    if (asked->declare != nullptr) asked->declare(transform, image);
  }
}

}  // namespace

bool SizesVary(const TransformationParameter& transform) {
  ImageShape image = {1, 1, 1};
  Declare(transform, &image);
  return image.height == 0;
}

ImageShape DeclaredShape(const TransformationParameter& transform, ImageShape image) {
  Declare(transform, &image);
  if (transform.crop_size() > 0) {
    image.height = image.width = static_cast<int>(transform.crop_size());
  }
  if (transform.crop_h() > 0) image.height = static_cast<int>(transform.crop_h());
  if (transform.crop_w() > 0) image.width = static_cast<int>(transform.crop_w());
  return image;
}

}  // namespace doppio
