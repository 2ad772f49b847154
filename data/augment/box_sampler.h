// SSD's batch_sampler: random windows of an image that hold enough of its objects.
#ifndef DOPPIO_DATA_AUGMENT_BOX_SAMPLER_H_
#define DOPPIO_DATA_AUGMENT_BOX_SAMPLER_H_

#include <vector>

#include "data/augment/boxes.h"
#include "data/augment/draws.h"
#include "proto/detection.pb.h"

namespace doppio {

using BatchSamplers = google::protobuf::RepeatedPtrField<BatchSampler>;

// Throws UserError for scales and ratios that no window can have.
void CheckSamplers(const BatchSamplers& samplers);

// Whether one of the objects overlaps the window as the constraint says; true where it says
// nothing.
bool Satisfies(const Box& window, const std::vector<ObjectBox>& objects,
               const SampleConstraint& constraint);

// Of each sampler up to max_sample windows, found within max_trials.
std::vector<Box> SampleWindows(const BatchSamplers& samplers, const std::vector<ObjectBox>& objects,
                               Draws* draws);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_BOX_SAMPLER_H_
