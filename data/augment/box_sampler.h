// SSD's batch_sampler: draws random windows that overlap enough with the objects of an image.
#ifndef DOPPIO_DATA_AUGMENT_BOX_SAMPLER_H_
#define DOPPIO_DATA_AUGMENT_BOX_SAMPLER_H_

#include <vector>

#include "data/record/boxes.h"
#include "data/record/draws.h"
#include "proto/detection.pb.h"

namespace doppio {

using BatchSamplers = google::protobuf::RepeatedPtrField<BatchSampler>;

// Throws UserError for scales and aspect ratios that no window can have.
void CheckSamplers(const BatchSamplers& samplers);

// Returns true if at least one object overlaps the window as `constraint` requires, or if the
// constraint is empty.
bool Satisfies(const Box& window, const std::vector<ObjectBox>& objects,
               const SampleConstraint& constraint);

// Returns up to max_sample windows per sampler, found in at most max_trials draws. Skips samplers
// with use_original_image: false.
std::vector<Box> SampleWindows(const BatchSamplers& samplers, const std::vector<ObjectBox>& objects,
                               Draws* draws);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_BOX_SAMPLER_H_
