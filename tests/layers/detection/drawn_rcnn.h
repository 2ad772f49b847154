// The parts of R-CNN's region proposal networks that several rows draw.
#ifndef DOPPIO_TESTS_LAYERS_DETECTION_DRAWN_RCNN_H_
#define DOPPIO_TESTS_LAYERS_DETECTION_DRAWN_RCNN_H_

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_blobs.h"
#include "tests/layers/common/drawn_fields.h"
#include "tests/layers/detection/drawn_objects.h"

namespace doppio {

// The anchors of a region proposal network.
struct DrawnAnchors {
  std::string fields;  // feat_stride, base_size, ratio and scale
  int64_t count = 1;   // of each position
  int64_t stride = 1;  // pixels of the image for each position
  std::string python;  // python_param, or ""; its text overrides the fields
};

inline DrawnAnchors DrawAnchors(Draw& draw) {
  DrawnAnchors anchors;
  DrawnFields fields(&draw);
  anchors.stride = draw.Of<int64_t>({1, 2, 4, 16});
  fields.Maybe(anchors.stride == 16 ? 0.5 : 1, "feat_stride", anchors.stride);
  fields.Maybe(0.8, "base_size", draw.Of<int64_t>({2, 4, 8}));
  constexpr int64_t kDefaults = 3;  // of either field
  const int64_t ratios = draw.Of<int64_t>({0, 1, 1, 2}), scales = draw.Of<int64_t>({0, 1, 1, 2});
  for (int64_t i = 0; i < ratios; ++i) fields.Set("ratio", draw.Of<double>({0.5, 1, 2}));
  for (int64_t i = 0; i < scales; ++i) fields.Set("scale", draw.Of<double>({0.5, 1, 2, 4}));
  anchors.count = (ratios == 0 ? kDefaults : ratios) * (scales == 0 ? kDefaults : scales);
  anchors.fields = fields.text();
  return anchors;
}

// Returns python_param with the class `name` of the module `module` of py-faster-rcnn and the text
// that the class gets.
inline std::string RcnnPython(Draw& draw, const std::string& module, const std::string& name,
                              const std::string& text) {
  DrawnFields fields(&draw);
  fields.SetText("module", module).SetText("layer", name).SetText("param_str", text);
  return fields.MaybeBool(0.3, "share_in_parallel").In("python_param");
}

// Draws the anchors of a layer that stands for such a class. Sometimes its text gives the stride
// and the scales.
inline DrawnAnchors DrawRcnnAnchors(Draw& draw, const std::string& module,
                                    const std::string& name) {
  DrawnAnchors anchors = DrawAnchors(draw);
  if (!draw.Chance(0.2)) return anchors;
  anchors.stride = draw.Int(1, 4);
  const bool scales = draw.Chance(0.5);
  std::string text = "'feat_stride': " + std::to_string(anchors.stride);
  if (scales) {
    text += ", 'scales': [1, 2], 'ratios': [1]";
    anchors.count = 2;
  }
  anchors.python = RcnnPython(draw, module, name, text);
  return anchors;
}

// Adds scores, codes and image sizes for the anchors on `map`: the bottoms of Proposal. Returns
// none if the draft refuses a layer.
inline std::vector<std::string> AddProposalBottoms(NetDraft* draft, const DraftBlob& map,
                                                   const DrawnAnchors& anchors) {
  const std::optional<DraftBlob> scores = AddConvolution(draft, map, 2 * anchors.count);
  if (!scores) return {};
  const std::optional<DraftBlob> codes = AddConvolution(draft, map, 4 * anchors.count, 0.3);
  if (!codes) return {};
  const int64_t side = std::max(map.shape[2], map.shape[3]) * anchors.stride;
  const std::optional<DraftBlob> sizes = ImageSizes(draft, side);
  if (!sizes) return {};
  return {scores->name, codes->name, sizes->name};
}

// Returns proposal_param with a few regions for each image.
inline std::string ProposalFields(Draw& draw, const DrawnAnchors& anchors) {
  DrawnFields fields(&draw);
  fields.Add(anchors.fields).Maybe(0.8, "min_size", draw.Real(0, 2));
  fields.Maybe(0.5, "pre_nms_topn", draw.Int(1, 50));
  fields.Set("post_nms_topn", draw.Int(1, 6)).Maybe(0.6, "nms_thresh", draw.Real(0.25, 1));
  return fields.In("proposal_param");
}

// Draws roi_pooling_param for such a number of pixels of the map for each pixel of the image.
inline std::string RoiPoolingFields(Draw& draw, double scale) {
  DrawnFields fields(&draw);
  fields.Set("pooled_h", draw.Int(1, 4)).Set("pooled_w", draw.Int(1, 4));
  fields.Maybe(scale == 1 ? 0.3 : 1, "spatial_scale", scale);
  return fields.Maybe(0.4, "pad_ratio", draw.Real(0, 0.5)).In("roi_pooling_param");
}

// Draws the fields of ROIAlign: of Mask R-CNN, or of Cascade R-CNN.
inline std::string RoiAlignFields(Draw& draw, double scale) {
  if (draw.Chance(0.35)) return RoiPoolingFields(draw, scale);
  DrawnFields fields(&draw);
  fields.Set("pooled_h", draw.Int(1, 4)).Set("pooled_w", draw.Int(1, 4));
  fields.Maybe(scale == 1 ? 0.3 : 1, "spatial_scale", scale);
  return fields.Maybe(0.6, "sampling_ratio", draw.Int(-1, 3)).In("roi_align_param");
}

// Adds a layer that pools regions of the map, or returns nothing.
inline std::optional<DraftBlob> AddRoiPooling(NetDraft* draft, const DraftBlob& map,
                                              const std::string& regions, double scale) {
  Draw& draw = draft->draw();
  if (draw.Chance(0.5))
    return AddWithOneTop(draft, "ROIPooling", {map.name, regions}, RoiPoolingFields(draw, scale));
  return AddWithOneTop(draft, "ROIAlign", {map.name, regions}, RoiAlignFields(draw, scale));
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_DETECTION_DRAWN_RCNN_H_
