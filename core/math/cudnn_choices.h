// What every choice among cuDNN's algorithms goes by: whether they are measured, where the choice
// is remembered, and what it depends on besides what is computed.
//
// Measurements are kept in memory and in the user's cache folder. A device that has to give the
// same bits every time does not measure, as a race has no fixed winner: it takes cuDNN's advice.
// DOPPIO_CUDNN_MEASURE=0 does so everywhere.
#ifndef DOPPIO_CORE_MATH_CUDNN_CHOICES_H_
#define DOPPIO_CORE_MATH_CUDNN_CHOICES_H_

#include <string>

#include "core/device/device.h"
#include "core/math/algorithm_cache.h"

namespace doppio {

bool MeasuresCudnn(const Device& device);
// Of measurements or, where there are none, of this process: advice is quickly had, but not for
// nothing.
AlgorithmCache& CudnnChoices(const Device& device);
// Names a choice: `what` is computed, the device, the library and the device's limits.
std::string CudnnChoiceKey(Device* device, const std::string& what);
// For declining, when cuDNN has nothing that keeps to them.
std::string WhyNoCudnn(const Device& device, const std::string& direction);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_CHOICES_H_
