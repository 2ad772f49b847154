// Settings for all choices among cuDNN's algorithms: whether algorithms are measured, where choices
// are stored, and which properties of the device a choice depends on.
//
// Measured choices are kept in memory and in the user's cache folder. A deterministic device does
// not measure, because the winner of a race can vary; it follows cuDNN's heuristics instead.
// DOPPIO_CUDNN_MEASURE=0 selects the heuristics for all devices.
#ifndef DOPPIO_CORE_MATH_CUDNN_CHOICES_H_
#define DOPPIO_CORE_MATH_CUDNN_CHOICES_H_

#include <string>

#include "core/device/device.h"
#include "core/math/algorithm_cache.h"

namespace doppio {

// Returns true if algorithms are chosen by measuring.
bool MeasuresCudnn(const Device& device);
// Returns the cache of measured choices, or, if nothing is measured, an in-memory cache of the
// heuristics' choices, which also take some time to compute.
AlgorithmCache& CudnnChoices(const Device& device);
// Returns the cache key of a choice: the GPU model, cuDNN's version, the computation `what`, and
// the device's limits.
std::string CudnnChoiceKey(Device* device, const std::string& what);
// Returns the reason with which a kernel declines if cuDNN has no algorithm within the device's
// limits. `direction` is "forward" or similar.
std::string WhyNoCudnn(const Device& device, const std::string& direction);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_CHOICES_H_
