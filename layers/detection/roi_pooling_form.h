// The form of ROIPooling, PSROIPooling, ROIAlign and PSROIAlign: what their kernels need from the
// net file and the bottoms' shapes.
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

// Checks the bottoms of such a layer and returns the form without the bins.
// `scale_path` is the path of the field that gives `scale`, for errors. Throws UserError.
RoiForm ReadRoiBottoms(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                       const std::string& scale_path, float scale);

// Sets the bins of a form. `param` is the name of the message that gives pooled_h and pooled_w.
// Throws UserError.
void ReadRoiBins(const LayerSpec& spec, const std::string& param, int64_t pooled_h,
                 int64_t pooled_w, RoiForm* form);

// Sets the bins and the channels of the top of a form whose bins read channels of their own.
// `param` is the name of the message that gives output_dim and group_size. Throws UserError.
void ReadRoiGroups(const LayerSpec& spec, const std::string& param, int64_t output_dim,
                   int64_t group_size, RoiForm* form);

// Returns the number of points of a bin along each axis that the field at `path` gives, or `usual`
// for 0 or less. Throws UserError if a bin would have more than a million points.
int64_t ReadRoiSamples(const LayerSpec& spec, const std::string& path, int64_t given,
                       int64_t usual);

// Returns the form that roi_pooling_param describes. Throws UserError.
RoiForm ReadRoiPoolingParam(const LayerSpec& spec, const std::vector<Shape>& bottoms);

// Returns what `infer` returns for a complete form.
LayerShape ShapeOfRois(const LayerSpec& spec, const RoiForm& form);

// Throws bad_region if any region names no image of the batch. `rois` points to host memory.
template <class T>
void CheckRois(const RoiPoolingForm& form, const T* rois) {
  for (int64_t r = 0; r < form.rois.rois; ++r) {
    if (ImageOfRoi(form.rois, rois + kRoiNumbers * r) < 0) throw form.bad_region;
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_ROI_POOLING_FORM_H_
