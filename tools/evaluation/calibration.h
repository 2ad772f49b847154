// How far the confidence of a classifier is from its accuracy: the reliability diagram and the
// expected calibration error (C. Guo et al., "On Calibration of Modern Neural Networks", 2017).
#ifndef DOPPIO_TOOLS_EVALUATION_CALIBRATION_H_
#define DOPPIO_TOOLS_EVALUATION_CALIBRATION_H_

#include <cstdint>
#include <vector>

#include "solvers/scores/predictions.h"

namespace doppio {

// The predictions whose confidence is in (low, high]; the first bin includes 0.
struct ReliabilityBin {
  double low = 0, high = 0;
  int64_t samples = 0;
  double confidence = 0, accuracy = 0;  // means over the samples
};

struct Calibration {
  std::vector<ReliabilityBin> bins;  // 15 of equal width
  double error = 0;                  // expected calibration error
};

Calibration Calibrate(const std::vector<Prediction>& rows);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EVALUATION_CALIBRATION_H_
