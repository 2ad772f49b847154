// What transform_param says of the extents of images without looking at any.
#ifndef DOPPIO_DATA_SOURCE_DECLARED_SHAPE_H_
#define DOPPIO_DATA_SOURCE_DECLARED_SHAPE_H_

#include "data/decode/decode.h"

namespace doppio {

class TransformationParameter;

// Whether images reach the crop in sizes that were drawn.
bool SizesVary(const TransformationParameter& transform);

// What images that come as `image` leave the pipeline as; 0 where it is not said.
ImageShape DeclaredShape(const TransformationParameter& transform, ImageShape image);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_DECLARED_SHAPE_H_
