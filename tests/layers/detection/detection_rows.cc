// Rows of the layers of SSD: PriorBox, MultiBoxLoss, DetectionOutput, DetectionEvaluate. A row adds
// the whole head of such a net.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_blobs.h"
#include "tests/layers/common/drawn_fields.h"
#include "tests/layers/detection/drawn_detections.h"
#include "tests/layers/detection/drawn_objects.h"
#include "tests/layers/loss/drawn_losses.h"
#include "tests/random/layer_row.h"

namespace doppio {
namespace {

constexpr int64_t kMostMapSide = 4;

// Draws the boxes of one position, for images of `side` pixels.
void SetPriorSizes(Draw& draw, double side, DrawnFields* fields) {
  const int64_t sizes = draw.Of<int64_t>({1, 1, 1, 2});
  const bool between = draw.Chance(0.5);
  for (int64_t i = 0; i < sizes; ++i) {
    const double least = 1 + draw.Real(0, 0.6) * side;
    fields->Set("min_size", least);
    if (between) fields->Set("max_size", least + 1 + draw.Real(0, 0.5) * side);
  }
  for (int64_t i = draw.Of<int64_t>({0, 0, 1, 1, 2}); i > 0; --i)
    fields->Set("aspect_ratio", draw.Of<double>({1, 2, 3, 0.5}));
  fields->MaybeBool(0.4, "flip").MaybeBool(0.4, "clip");
}

// Draws where the priors are. Their centers stay inside of the image, so that clipped priors have
// an area: codes are divided by it.
void SetPriorPlaces(Draw& draw, const Shape& map, const Shape& images, DrawnFields* fields) {
  double height = static_cast<double>(images[2]), width = static_cast<double>(images[3]);
  if (draw.Chance(0.15)) {
    height = width = static_cast<double>(draw.Int(6, 24));
    fields->Set("img_size", height);
  } else if (draw.Chance(0.15)) {
    height = static_cast<double>(draw.Int(6, 24));
    width = static_cast<double>(draw.Int(6, 24));
    fields->Set("img_h", height).Set("img_w", width);
  }
  const double down = height / static_cast<double>(map[2]),
               across = width / static_cast<double>(map[3]);
  if (draw.Chance(0.15)) {
    fields->Set("step", draw.Real(0.5, 1) * std::min(down, across));
  } else if (draw.Chance(0.15)) {
    fields->Set("step_h", draw.Real(0.5, 1) * down).Set("step_w", draw.Real(0.5, 1) * across);
  }
  fields->Maybe(0.3, "offset", draw.Real(0.25, 0.75));
  const int64_t variances = draw.Of<int64_t>({0, 1, 4});
  for (int64_t i = 0; i < variances; ++i) fields->Set("variance", draw.Real(0.1, 0.3));
}

std::optional<DraftBlob> AddPriorBox(NetDraft* draft, const DraftBlob& map) {
  const std::optional<DraftBlob> images = draft->Images();
  if (!images) return std::nullopt;
  DrawnFields fields(&draft->draw());
  const int64_t side = std::min(images->shape[2], images->shape[3]);
  SetPriorSizes(draft->draw(), static_cast<double>(side), &fields);
  SetPriorPlaces(draft->draw(), map.shape, images->shape, &fields);
  return AddWithOneTop(draft, "PriorBox", {map.name, images->name}, fields.In("prior_box_param"),
                       BlobKind::kOther);
}

bool DrawPriorBox(NetDraft* draft) {
  const std::optional<DraftBlob> map = SmallMap(draft, kMostMapSide);
  return map && AddPriorBox(draft, *map);
}

// The predictions of an SSD net.
struct SsdHead {
  std::string places, scores, priors;
};

// Adds a prediction of `each` numbers for each prior. In SSD's files the numbers of a prior follow
// each other.
std::optional<DraftBlob> AddPredictions(NetDraft* draft, const DraftBlob& map, int64_t each) {
  const std::optional<DraftBlob> numbers = AddConvolution(draft, map, each, 0.5);
  if (!numbers || draft->draw().Chance(0.4)) return numbers;
  const std::optional<DraftBlob> turned = AddWithOneTop(
      draft, "Permute", {numbers->name}, "permute_param { order: 0 order: 2 order: 3 order: 1 }");
  if (!turned) return std::nullopt;
  return AddWithOneTop(draft, "Flatten", {turned->name});
}

std::optional<SsdHead> AddSsdHead(NetDraft* draft, int64_t classes, bool share_location) {
  const std::optional<DraftBlob> map = SmallMap(draft, kMostMapSide);
  if (!map) return std::nullopt;
  const std::optional<DraftBlob> priors = AddPriorBox(draft, *map);
  if (!priors) return std::nullopt;
  const int64_t each = priors->shape[2] / 4 / map->shape.count(2);
  const std::optional<DraftBlob> places =
      AddPredictions(draft, *map, 4 * each * (share_location ? 1 : classes));
  if (!places) return std::nullopt;
  const std::optional<DraftBlob> scores = AddPredictions(draft, *map, each * classes);
  if (!scores) return std::nullopt;
  return SsdHead{places->name, scores->name, priors->name};
}

// Draws which class is the background, and the range of the labels of objects.
struct SsdClasses {
  explicit SsdClasses(Draw& draw) : count(draw.Int(2, 4)) {
    if (draw.Chance(0.3)) background = count - 1;
    first = background == 0 ? 1 : 0;
    last = background == 0 ? count - 1 : count - 2;
  }
  int64_t count, background = 0, first, last;
};

// Draws the fields that choose among the priors.
void SetMatching(Draw& draw, const SsdClasses& classes, bool share_location, DrawnFields* fields) {
  fields->MaybeOneOf(0.4, "match_type", {"BIPARTITE", "PER_PREDICTION"});
  fields->Maybe(0.4, "overlap_threshold", draw.Real(0.2, 0.7));
  fields->MaybeBool(0.3, "use_prior_for_matching").MaybeBool(0.3, "use_difficult_gt");
  fields->MaybeBool(0.3, "ignore_cross_boundary_bbox").MaybeBool(0.3, "bp_inside");
  fields->MaybeBool(0.1, "ignore_difficult_gt");
  if (classes.count == 2 && classes.background == 0)
    fields->MaybeBool(0.5, "map_object_to_agnostic");
  // Classes that do not share locations are not mined.
  const auto mining = share_location
                          ? draw.Of<std::string>({"NONE", "MAX_NEGATIVE", "HARD_EXAMPLE"})
                          : std::string("NONE");
  fields->Maybe(mining == "MAX_NEGATIVE" ? 0.5 : 1, "mining_type", mining);
  fields->Maybe(0.15, "do_neg_mining", mining != "NONE");
  fields->Maybe(0.4, "neg_pos_ratio", draw.Of<double>({0, 1, 2.5}));
  fields->Maybe(0.4, "neg_overlap", draw.Real(0.2, 0.7));
  fields->Maybe(0.4, "sample_size", draw.Int(1, 9)).MaybeBool(0.3, "use_prior_for_nms");
  if (!draw.Chance(0.3)) return;
  DrawnFields nms(&draw);
  nms.Maybe(0.7, "nms_threshold", draw.Real(0.3, 0.9)).Maybe(0.5, "top_k", draw.Int(1, 20));
  fields->Add(nms.Maybe(0.2, "eta", 1).In("nms_param"));
}

bool DrawMultiBoxLoss(NetDraft* draft) {
  Draw& draw = draft->draw();
  const SsdClasses classes(draw);
  const bool share_location = draw.Chance(0.75);
  const std::optional<SsdHead> head = AddSsdHead(draft, classes.count, share_location);
  if (!head) return false;
  const std::optional<DraftBlob> objects =
      SsdObjects(draft, classes.first, classes.last, draw.Chance(0.5));
  if (!objects) return false;
  DrawnFields fields(&draw), loss(&draw);
  fields.Set("num_classes", classes.count);
  fields.Maybe(share_location ? 0.3 : 1, "share_location", share_location);
  fields.Maybe(classes.background == 0 ? 0.3 : 1, "background_label_id", classes.background);
  fields.MaybeOneOf(0.5, "loc_loss_type", {"L2", "SMOOTH_L1"});
  fields.MaybeOneOf(0.5, "conf_loss_type", {"SOFTMAX", "LOGISTIC"});
  fields.Maybe(0.4, "loc_weight", draw.Real(0.2, 1.5));
  fields.MaybeOneOf(0.6, "code_type", {"CORNER", "CENTER_SIZE", "CORNER_SIZE"});
  fields.MaybeBool(0.3, "encode_variance_in_target");
  SetMatching(draw, classes, share_location, &fields);
  SetNormalization(draw, draft->batch(), 4, &loss);
  return draft->Add({"MultiBoxLoss",
                     {head->places, head->scores, head->priors, objects->name},
                     1,
                     fields.In("multibox_loss_param") + loss.In("loss_param"),
                     {BlobKind::kOther}});
}

// Adds a DetectionOutput of a new head.
std::optional<DraftBlob> AddDetectionOutput(NetDraft* draft, int64_t classes, int64_t background) {
  Draw& draw = draft->draw();
  const bool share_location = draw.Chance(0.7);
  const std::optional<SsdHead> head = AddSsdHead(draft, classes, share_location);
  if (!head) return std::nullopt;
  DrawnFields fields(&draw);
  SetDetectionBottoms(classes, share_location, background, &fields);
  SetDetectionRule(draw, &fields);
  std::vector<std::string> bottoms = {head->places, head->scores, head->priors};
  const std::optional<DraftBlob> images = draft->Images();
  if (images && draw.Chance(0.2)) bottoms.push_back(images->name);  // SSD's, to show detections
  return AddWithOneTop(draft, "DetectionOutput", bottoms, fields.In("detection_output_param"),
                       BlobKind::kOther);
}

bool DrawDetectionOutput(NetDraft* draft) {
  Draw& draw = draft->draw();
  const int64_t classes = draw.Int(2, 4);
  return AddDetectionOutput(draft, classes, draw.Of<int64_t>({0, 0, -1, classes - 1, 99}))
      .has_value();
}

bool DrawDetectionEvaluate(NetDraft* draft) {
  Draw& draw = draft->draw();
  const SsdClasses classes(draw);
  const std::optional<DraftBlob> detections =
      AddDetectionOutput(draft, classes.count, classes.background);
  if (!detections) return false;
  const std::optional<DraftBlob> objects =
      SsdObjects(draft, classes.first, classes.last, draw.Chance(0.5));
  if (!objects) return false;
  DrawnFields fields(&draw);
  fields.Set("num_classes", classes.count);
  fields.Maybe(classes.background == 0 ? 0.3 : 1, "background_label_id", classes.background);
  fields.Maybe(0.5, "overlap_threshold", draw.Real(0.2, 0.7));
  fields.MaybeBool(0.4, "evaluate_difficult_gt").MaybeText(0.1, "name_size_file", "sizes.txt");
  if (draw.Chance(0.1)) fields.Add("resize_param { height: 8 width: 8 }");
  return draft->Add({"DetectionEvaluate",
                     {detections->name, objects->name},
                     1,
                     fields.In("detection_evaluate_param"),
                     {BlobKind::kOther}});
}

// Rows of objects name an image of the batch, and rows of detections follow those of other images.
constexpr unsigned kOfBatch = LayerRow::kWholeBatch | LayerRow::kJumps;
constexpr unsigned kDetects = kOfBatch | LayerRow::kNoBackward | LayerRow::kHostOnly;
constexpr unsigned kBoxLoss =
    kOfBatch | LayerRow::kKinks | LayerRow::kHostOnly | LayerRow::kNoOracle;

DOPPIO_REGISTER(LayerRows, "PriorBox", {&DrawPriorBox, LayerRow::kNoBackward, 0.3});
DOPPIO_REGISTER(LayerRows, "MultiBoxLoss", {&DrawMultiBoxLoss, kBoxLoss, 0.4, {}, LayerRow::kLoss});
DOPPIO_REGISTER(LayerRows, "DetectionOutput",
                {&DrawDetectionOutput, kDetects, 0.3, {}, LayerRow::kScore});
DOPPIO_REGISTER(LayerRows, "DetectionEvaluate",
                {&DrawDetectionEvaluate, kDetects, 0.3, {}, LayerRow::kScore});

}  // namespace
}  // namespace doppio
