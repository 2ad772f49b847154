// Describes the random changes of transform_param that move pixels, so that the sources of a group
// can be compared (core/base/sample_set.h).
#ifndef DOPPIO_DATA_AUGMENT_RANDOM_MOVES_H_
#define DOPPIO_DATA_AUGMENT_RANDOM_MOVES_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/sample_set.h"
#include "proto/state.pb.h"

namespace doppio {

class TransformationParameter;

// Returns `numbers` as text, separated by blanks.
std::string RangeText(const std::vector<float>& numbers);

// Return the ranges of transforms (Transform::Moves).
std::optional<RandomMove> MoveOfCrop(const TransformationParameter& transform);
std::optional<RandomMove> MoveOfRandomSize(const TransformationParameter& transform);
std::optional<RandomMove> MoveOfRotation(const TransformationParameter& transform);
std::optional<RandomMove> MoveOfShift(const TransformationParameter& transform);
std::optional<RandomMove> MoveOfExpansion(const TransformationParameter& transform);
std::optional<RandomMove> MoveOfResize(const TransformationParameter& transform);
std::optional<RandomMove> MoveOfRandAugment(const TransformationParameter& transform);
std::optional<RandomMove> MoveOfTrivialAugment(const TransformationParameter& transform);

// Sets random_crop and moves, and before_crop from `set->stored`, as `transform` acts in a layer
// with images. `annotated`: the layer's transforms ignore the phase.
void DescribeMoves(const TransformationParameter& transform, Phase phase, bool annotated,
                   SampleSet* set);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_RANDOM_MOVES_H_
