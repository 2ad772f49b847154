// Sources that apply the transforms of transform_param (data/augment/transforms.h) to the records
// of another source. Crop, mirror, mean and scale are left to the pipeline.
#ifndef DOPPIO_DATA_AUGMENT_AUGMENTED_SOURCE_H_
#define DOPPIO_DATA_AUGMENT_AUGMENTED_SOURCE_H_

#include <memory>

#include "core/base/random.h"
#include "data/record/source.h"

namespace doppio {

class AnnotatedDataParameter;
class TransformationParameter;

// Wraps `records`, a database of AnnotatedDatum, to change its images as layer AnnotatedData does:
// by batch_sampler, and by those transforms (data/augment/transforms.h) that can change boxes.
// Throws UserError.
std::unique_ptr<Source> OpenAnnotated(std::unique_ptr<Source> records,
                                      const AnnotatedDataParameter& parameter,
                                      const TransformationParameter& transform,
                                      const Random& random);
// Throws UserError if OpenAnnotated would reject these parameters.
void CheckAnnotated(const AnnotatedDataParameter& parameter,
                    const TransformationParameter& transform);
// Returns `transform` without the fields that OpenAnnotated applies: what the pipeline still
// applies.
TransformationParameter WithoutAnnotatedTransforms(TransformationParameter transform);
// Wraps `records` to change their images by the transforms (data/augment/transforms.h) that
// `transform` asks for in this phase. Returns `records` itself if there are none. Throws UserError.
std::unique_ptr<Source> OpenAugmented(std::unique_ptr<Source> records,
                                      const TransformationParameter& transform, Phase phase,
                                      const Random& random);
// Throws UserError if OpenAugmented would reject `transform`.
void CheckAugmented(const TransformationParameter& transform);
// Returns `transform` without the fields that OpenAugmented applies: what the pipeline still
// applies.
TransformationParameter WithoutAugmentedTransforms(TransformationParameter transform);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_AUGMENTED_SOURCE_H_
