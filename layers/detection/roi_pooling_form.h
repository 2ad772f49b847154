// The form of ROIPooling and PSROIPooling.
#ifndef DOPPIO_LAYERS_DETECTION_ROI_POOLING_FORM_H_
#define DOPPIO_LAYERS_DETECTION_ROI_POOLING_FORM_H_

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/shape.h"
#include "layers/detection/roi_pooling_ops.h"

namespace doppio {

struct LayerShape;
struct LayerSpec;

struct RoiPoolingForm {
  RoiForm rois;
  UserError bad_region;  // thrown for a region that names no image of the batch
};

// Checks the bottoms of both layers and returns the form without the bins. `scale_path`: the field
// that gives `scale`, for errors.
RoiForm ReadRoiBottoms(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                       const std::string& scale_path, float scale);

// Returns the answer of `infer` for a form that is read.
LayerShape ShapeOfRois(const LayerSpec& spec, const RoiForm& form);

// Throws bad_region for the first bad one of the regions, which are in host memory.
template <class T>
void CheckRois(const RoiPoolingForm& form, const T* rois) {
  for (int64_t r = 0; r < form.rois.rois; ++r) {
    if (ImageOfRoi(form.rois, rois + kRoiNumbers * r) < 0) throw form.bad_region;
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_ROI_POOLING_FORM_H_
