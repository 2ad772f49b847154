// The record of what a data layer does to its images (proto/preprocessing.proto), which files of
// weights keep.
#ifndef DOPPIO_DATA_AUGMENT_PREPROCESSING_H_
#define DOPPIO_DATA_AUGMENT_PREPROCESSING_H_

#include "data/source/source.h"

namespace doppio {

// Takes the means of the channels of a mean file. Of one that does not exist it keeps the name
// only. Throws FileError for a mean file that cannot be read.
Preprocessing DescribeImages(const TransformationParameter& transform, const SourceFacts& facts);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_PREPROCESSING_H_
