// Derives image sizes from transform_param alone, without reading an image.
#ifndef DOPPIO_DATA_AUGMENT_DECLARED_SHAPE_H_
#define DOPPIO_DATA_AUGMENT_DECLARED_SHAPE_H_

#include "data/decode/decode.h"

namespace doppio {

class TransformationParameter;

// Returns true if images can differ in size when they reach the crop.
bool SizesVary(const TransformationParameter& transform);

// Returns the shape of the pipeline's samples for images of shape `image`. A height or width is 0
// if transform_param does not determine it.
ImageShape DeclaredShape(const TransformationParameter& transform, ImageShape image);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_DECLARED_SHAPE_H_
