// Settings for all choices among cuDNN's algorithms: whether algorithms are measured, where choices
// are stored, and which properties of the device a choice depends on.
//
// Measured choices are kept in memory and in the user's cache folder, and a resumed training
// replays those of its snapshot (core/device/candidates.h). A deterministic device does not
// measure, because the winner of a race can vary; it follows cuDNN's heuristics instead.
// DOPPIO_CUDNN_MEASURE=0 selects the heuristics for all devices.
#ifndef DOPPIO_CORE_MATH_CUDNN_CHOICES_H_
#define DOPPIO_CORE_MATH_CUDNN_CHOICES_H_

#include <optional>
#include <string>

#include "core/device/device.h"
#include "core/math/algorithm_cache.h"

namespace doppio {

// Returns true if algorithms are chosen by measuring.
bool MeasuresCudnn(const Device& device);
// Returns the cache of measured choices, or, if nothing is measured, an in-memory cache of the
// heuristics' choices, which also take some time to compute.
AlgorithmCache& CudnnChoices(const Device& device);
// Returns the choice that the device replays for `key`, or else that of CudnnChoices: the stored
// one, or the result of `measure` (AlgorithmCache::FindOrMeasure). Notes it with the device if
// algorithms are measured.
std::optional<CachedChoice> FindCudnnChoice(Device* device, const std::string& key,
                                            const AlgorithmCache::Measure& measure);
// Stores a choice that replaces one that cannot be used, and notes it with the device.
void StoreCudnnChoice(Device* device, const std::string& key, const CachedChoice& choice);
// Returns the cache key of a choice: the GPU model, cuDNN's version, the computation `what`, and
// the device's limits.
std::string CudnnChoiceKey(Device* device, const std::string& what);
// Returns the reason with which a kernel declines if cuDNN has no algorithm within the device's
// limits. `direction` is "forward" or similar.
std::string WhyNoCudnn(const Device& device, const std::string& direction);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_CHOICES_H_
