// ROIPooling and PSROIPooling on a GPU in plain arguments: what roi_pooling_cuda.cc asks of
// roi_pooling.cu.
#ifndef DOPPIO_LAYERS_DETECTION_ROI_POOLING_CUDA_H_
#define DOPPIO_LAYERS_DETECTION_ROI_POOLING_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/detection/roi_pooling_ops.h"

namespace doppio {

// Each for all elements of what it writes.
void LaunchRoi(const Gpu& gpu, const RoiMax<float>& body);
void LaunchRoi(const Gpu& gpu, const RoiMaxGradient<float>& body);
void LaunchRoi(const Gpu& gpu, const PsRoiMean<float>& body);
void LaunchRoi(const Gpu& gpu, const PsRoiMeanGradient<float>& body);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_ROI_POOLING_CUDA_H_
