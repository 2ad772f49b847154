// Rows of the layers that make, pool and evaluate regions: ROIPooling, ROIAlign, PSROIPooling,
// PSROIAlign, Proposal and RoiDetections.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_blobs.h"
#include "tests/layers/common/drawn_fields.h"
#include "tests/layers/detection/drawn_detections.h"
#include "tests/layers/detection/drawn_rcnn.h"
#include "tests/random/layer_row.h"

namespace doppio {
namespace {

double DrawRoiScale(Draw& draw) { return draw.Of<double>({1, 1, 0.5, 0.25, 0.0625, 2}); }

// Adds a layer of the type that pools drawn regions of `map`.
bool AddPooledRegions(NetDraft* draft, const char* type, const DraftBlob& map, double scale,
                      const std::string& fields) {
  const double side = static_cast<double>(std::max(map.shape[2], map.shape[3])) / scale;
  const std::optional<DraftBlob> regions = DrawnRegions(draft, std::max(2.0, side));
  return regions && AddWithOneTop(draft, type, {map.name, regions->name}, fields);
}

bool DrawRoiPooling(NetDraft* draft) {
  const double scale = DrawRoiScale(draft->draw());
  const std::optional<DraftBlob> map = draft->Images();
  return map &&
         AddPooledRegions(draft, "ROIPooling", *map, scale, RoiPoolingFields(draft->draw(), scale));
}

bool DrawRoiAlign(NetDraft* draft) {
  const double scale = DrawRoiScale(draft->draw());
  const std::optional<DraftBlob> map = draft->Images();
  return map &&
         AddPooledRegions(draft, "ROIAlign", *map, scale, RoiAlignFields(draft->draw(), scale));
}

// A map with a channel for each bin of each top channel.
struct GroupedMap {
  DraftBlob blob;
  int64_t group = 1;  // bins along each axis
  int64_t outputs() const { return blob.shape[1] / (group * group); }
};

std::optional<GroupedMap> DrawGroupedMap(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::optional<DraftBlob> images = draft->Images();
  if (!images) return std::nullopt;
  const int64_t group = draw.Int(1, 3);
  if (images->shape[1] % (group * group) == 0) return GroupedMap{*images, group};
  const std::optional<DraftBlob> map =
      AddConvolution(draft, *images, group * group * draw.Int(1, 3));
  if (!map) return std::nullopt;
  return GroupedMap{*map, group};
}

bool DrawPsroi(NetDraft* draft, const char* type, const std::string& message, bool samples) {
  Draw& draw = draft->draw();
  const std::optional<GroupedMap> map = DrawGroupedMap(draft);
  if (!map) return false;
  const double scale = DrawRoiScale(draw);
  DrawnFields fields(&draw);
  fields.Set("spatial_scale", scale).Set("output_dim", map->outputs());
  fields.Set("group_size", map->group);
  fields.Maybe(samples ? 0.6 : 0, "sample_num", draw.Int(0, 4));
  return AddPooledRegions(draft, type, map->blob, scale, fields.In(message));
}
bool DrawPsroiPooling(NetDraft* draft) {
  return DrawPsroi(draft, "PSROIPooling", "psroi_pooling_param", false);
}
bool DrawPsroiAlign(NetDraft* draft) {
  return DrawPsroi(draft, "PSROIAlign", "psroi_align_param", true);
}

// Also adds, usually, a layer that pools the proposals.
bool DrawProposal(NetDraft* draft) {
  constexpr int64_t kMostProposalSide = 5;
  Draw& draw = draft->draw();
  const std::optional<DraftBlob> map = SmallMap(draft, kMostProposalSide);
  if (!map) return false;
  const DrawnAnchors anchors = DrawRcnnAnchors(draw, "rpn.proposal_layer", "ProposalLayer");
  const std::vector<std::string> bottoms = AddProposalBottoms(draft, *map, anchors);
  if (bottoms.empty()) return false;
  const std::string fields = ProposalFields(draw, anchors) + anchors.python;
  const int tops = draw.Chance(0.3) ? 2 : 1;
  if (!draft->Add({"Proposal", bottoms, tops, fields, {BlobKind::kOther, BlobKind::kOther}}))
    return false;
  const std::string regions = draft->tops().front().name;
  if (draw.Chance(0.3)) return true;
  const double scale = 1 / static_cast<double>(anchors.stride);
  return AddRoiPooling(draft, *map, regions, scale).has_value();
}

// Returns proposal_target_param, of which RoiDetections reads bbox_mean and bbox_std.
std::string TargetScaleFields(Draw& draw) {
  DrawnFields fields(&draw);
  const bool means = draw.Chance(0.5), deviations = draw.Chance(0.5);
  for (int i = 0; i < 4 && means; ++i) fields.Set("bbox_mean", draw.Real(-0.2, 0.2));
  for (int i = 0; i < 4 && deviations; ++i) fields.Set("bbox_std", draw.Real(0.05, 0.5));
  fields.Maybe(0.08, "num_classes", 3).Maybe(0.08, "batch_size", 4);
  fields.Maybe(0.08, "fg_fraction", 0.5).Maybe(0.08, "fg_thresh", 0.75);
  fields.Maybe(0.08, "bg_thresh_hi", 0.25).Maybe(0.08, "bg_thresh_lo", 0.125);
  return fields.In("proposal_target_param");
}

bool DrawRoiDetections(NetDraft* draft) {
  Draw& draw = draft->draw();
  const int64_t side = draw.Int(8, 40), classes = draw.Int(2, 5);
  const std::optional<DraftBlob> values = draft->Values(2);
  if (!values) return false;
  const DraftBlob regions = draft->Numbers({"regions", 0, static_cast<double>(side - 1), {5}});
  const std::optional<DraftBlob> scores = Projected(draft, *values, classes);
  if (!scores) return false;
  const std::optional<DraftBlob> shares = AddWithOneTop(draft, "Softmax", {scores->name});
  if (!shares) return false;
  const std::optional<DraftBlob> codes =
      Projected(draft, *values, draw.Of<int64_t>({4 * classes, 4 * classes, 8, 4}));
  if (!codes) return false;
  const std::optional<DraftBlob> sizes = ImageSizes(draft, side);
  if (!sizes) return false;
  DrawnFields fields(&draw);
  // RoiDetections reads the rule alone.
  if (draw.Chance(0.2)) SetDetectionBottoms(classes, draw.Chance(0.5), 1, &fields);
  SetDetectionRule(draw, &fields);
  return draft->Add({"RoiDetections",
                     {regions.name, shares->name, codes->name, sizes->name},
                     1,
                     fields.In("detection_output_param") + TargetScaleFields(draw),
                     {BlobKind::kOther}});
}

// Regions name an image of the batch.
constexpr unsigned kPools = LayerRow::kWholeBatch;
constexpr unsigned kProposes =
    LayerRow::kWholeBatch | LayerRow::kJumps | LayerRow::kNoBackward | LayerRow::kHostOnly;

// The oracle has only Mask R-CNN's form.
unsigned RoiAlignTraits(const LayerParameter& layer) {
  return kPools | (layer.has_roi_pooling_param() ? unsigned{LayerRow::kNoOracle} : 0u);
}

const std::map<std::string, std::string>& RefusedRoiFields() {
  static const auto* fields = new std::map<std::string, std::string>{
      {"roi_pooling_param.pooled_size", "the layer refuses it"}};
  return *fields;
}

DOPPIO_REGISTER(LayerRows, "ROIPooling",
                {&DrawRoiPooling, kPools | LayerRow::kKinks, 0.5, RefusedRoiFields()});
DOPPIO_REGISTER(LayerRows, "ROIAlign",
                {&DrawRoiAlign, kPools | LayerRow::kNoOracle, 0.5, RefusedRoiFields(),
                 LayerRow::kInner, &RoiAlignTraits});
DOPPIO_REGISTER(LayerRows, "PSROIPooling", {&DrawPsroiPooling, kPools, 0.4});
DOPPIO_REGISTER(LayerRows, "PSROIAlign", {&DrawPsroiAlign, kPools | LayerRow::kNoOracle, 0.4});
DOPPIO_REGISTER(LayerRows, "Proposal", {&DrawProposal, kProposes, 0.3});
DOPPIO_REGISTER(LayerRows, "RoiDetections",
                {&DrawRoiDetections, kProposes, 0.3, {}, LayerRow::kScore});

}  // namespace
}  // namespace doppio
