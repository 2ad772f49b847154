// Sequences of random changes without settings of their own, drawn from one table of 14 changes:
// RandAugment (E. Cubuk, B. Zoph, J. Shlens, Q. Le, "RandAugment: Practical Automated Data
// Augmentation with a Reduced Search Space", 2020) and TrivialAugment (S. Mueller, F. Hutter,
// "TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation", 2021, wide ranges).
#ifndef DOPPIO_DATA_AUGMENT_AUTO_AUGMENT_H_
#define DOPPIO_DATA_AUGMENT_AUTO_AUGMENT_H_

#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "data/decode/decode.h"
#include "data/record/draws.h"

namespace doppio {

class TransformationParameter;

// Throw UserError for invalid fields, and if the fields of both are set.
void CheckRandAugment(const TransformationParameter& transform);
void CheckTrivialAugment(const TransformationParameter& transform);

// Change the image in 8 bits; it keeps its size. Pixels from outside the image become `fill`.
void RandAugment(const TransformationParameter& transform, const cv::Scalar& fill, Draws* draws,
                 Image* image);
void TrivialAugment(const TransformationParameter& transform, const cv::Scalar& fill, Draws* draws,
                    Image* image);

// Returns the names of the changes, in the order of the table.
std::vector<std::string> AutoChanges();
// Applies the change of this name. `strength` is from -1 to 1, in fractions of the largest amount
// of RandAugment or, `wide`, of TrivialAugment; changes that have no direction ignore its sign.
void ApplyAutoChange(const std::string& name, double strength, bool wide, const cv::Scalar& fill,
                     Image* image);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_AUTO_AUGMENT_H_
