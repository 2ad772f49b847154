// Describes how a data layer prepares its images in phase TEST (proto/preprocessing.proto). Weight
// files store this description. NetInput (data/augment/net_input.h) follows it.
#ifndef DOPPIO_DATA_AUGMENT_PREPROCESSING_H_
#define DOPPIO_DATA_AUGMENT_PREPROCESSING_H_

#include "data/augment/mean_file.h"
#include "data/record/source.h"

namespace doppio {

// Returns the description of images with `facts` after `transform`, without what is random. If the
// mean file does not exist, stores only its name. Throws FileError if it cannot be read.
Preprocessing DescribeImages(const TransformationParameter& transform, const SourceFacts& facts);

// Stores `mean`, of which the crop takes the centre, and its channel means.
void SetMeanImage(const MeanImage& mean, Preprocessing* record);

// Removes the fields of the record about the size of images before the crop.
void ClearSizes(Preprocessing* record);

// Returns `record` for a net with this input. If the sizes in `record` do not lead to the input,
// images are resized to it. Removes means and deviations of another number of channels
// or another size. The result
// has height and width; without resize_height, images are not resized before the changes.
Preprocessing FitToInput(Preprocessing record, const ImageShape& input);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_PREPROCESSING_H_
