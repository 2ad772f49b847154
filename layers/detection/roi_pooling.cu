#include "core/device/launch.cuh"
#include "layers/detection/roi_pooling_cuda.h"

namespace doppio {

void LaunchRoi(const Gpu& gpu, const RoiMax<float>& body) {
  ForEachIndex(gpu, body.form.top_count(), "ROIPooling", body);
}
void LaunchRoi(const Gpu& gpu, const RoiMaxGradient<float>& body) {
  ForEachIndex(gpu, body.form.bottom_count(), "ROIPooling's gradient", body);
}
void LaunchRoi(const Gpu& gpu, const PsRoiMean<float>& body) {
  ForEachIndex(gpu, body.form.top_count(), "PSROIPooling", body);
}
void LaunchRoi(const Gpu& gpu, const PsRoiMeanGradient<float>& body) {
  ForEachIndex(gpu, body.form.bottom_count(), "PSROIPooling's gradient", body);
}

}  // namespace doppio
