// Describes how a data layer prepares its images (proto/preprocessing.proto). Weight files store
// this description.
#ifndef DOPPIO_DATA_AUGMENT_PREPROCESSING_H_
#define DOPPIO_DATA_AUGMENT_PREPROCESSING_H_

#include "data/source/source.h"

namespace doppio {

// Returns the description of images with `facts` after `transform`. Replaces a mean file by its
// channel means; if the file does not exist, stores only its name. Throws FileError if the mean
// file cannot be read.
Preprocessing DescribeImages(const TransformationParameter& transform, const SourceFacts& facts);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_PREPROCESSING_H_
