#include "tools/evaluation/calibration.h"

#include <algorithm>
#include <cmath>

namespace doppio {

Calibration Calibrate(const std::vector<Prediction>& rows) {
  constexpr int kBins = 15;
  Calibration calibration;
  for (int i = 0; i < kBins; ++i)
    calibration.bins.push_back({static_cast<double>(i) / kBins, (i + 1.0) / kBins});
  for (const Prediction& row : rows) {
    const double confidence = static_cast<double>(row.confidence);
    const int bin = static_cast<int>(std::ceil(confidence * kBins)) - 1;
    ReliabilityBin& in = calibration.bins[std::clamp(bin, 0, kBins - 1)];
    ++in.samples;
    in.confidence += confidence;
    in.accuracy += row.right() ? 1 : 0;
  }
  for (ReliabilityBin& bin : calibration.bins) {
    if (bin.samples == 0) continue;
    calibration.error += std::abs(bin.accuracy - bin.confidence) / static_cast<double>(rows.size());
    bin.confidence /= static_cast<double>(bin.samples);
    bin.accuracy /= static_cast<double>(bin.samples);
  }
  return calibration;
}

}  // namespace doppio
