// The fields of detection_output_param, which several layers read.
#ifndef DOPPIO_TESTS_LAYERS_DETECTION_DRAWN_DETECTIONS_H_
#define DOPPIO_TESTS_LAYERS_DETECTION_DRAWN_DETECTIONS_H_

#include <cstdint>
#include <string>

#include "tests/layers/common/drawn_fields.h"

namespace doppio {

// Adds the fields that say which detections are kept, and those that have no effect.
inline void SetDetectionRule(Draw& draw, DrawnFields* fields) {
  DrawnFields nms(&draw);
  nms.Maybe(0.6, "nms_threshold", draw.Of<double>({0, 0.3, 0.45, 0.75, 1}));
  nms.Maybe(0.4, "top_k", draw.Of<int64_t>({-1, 1, 4, 100}));
  nms.Maybe(0.3, "eta", draw.Of<double>({1, 0.9, 0.5}));
  if (draw.Chance(0.7)) fields->Add(nms.In("nms_param"));
  fields->Maybe(0.5, "keep_top_k", draw.Of<int64_t>({-1, 1, 5, 200}));
  fields->Maybe(0.5, "confidence_threshold", draw.Of<double>({0, 0.01, 0.25}));
  fields->MaybeBool(0.08, "visualize").Maybe(0.08, "visualize_threshold", 0.5);
  fields->MaybeText(0.08, "save_file", "detections.avi");
  if (draw.Chance(0.1)) {
    fields->Add(
        "save_output_param { output_directory: \"results\" output_name_prefix: \"comp4\" "
        "output_format: \"VOC\" label_map_file: \"labels.prototxt\" name_size_file: "
        "\"sizes.txt\" num_test_image: 4 resize_param { height: 8 width: 8 } }");
  }
}

// Adds the fields by which DetectionOutput alone reads its bottoms, for `classes` classes of which
// `background` is none.
inline void SetDetectionBottoms(int64_t classes, bool share_location, int64_t background,
                                DrawnFields* fields) {
  fields->Set("num_classes", classes)
      .Maybe(share_location ? 0.3 : 1, "share_location", share_location);
  fields->Maybe(background == 0 ? 0.3 : 1, "background_label_id", background);
  fields->MaybeOneOf(0.6, "code_type", {"CORNER", "CENTER_SIZE", "CORNER_SIZE"});
  fields->MaybeBool(0.3, "variance_encoded_in_target");
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_DETECTION_DRAWN_DETECTIONS_H_
