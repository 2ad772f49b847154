// Rows of the layers that choose what R-CNNs train on: AnchorTarget, ProposalTarget and
// BoxAnnotatorOHEM. A row adds the losses that read the choice, too, because no other layer can.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_blobs.h"
#include "tests/layers/common/drawn_fields.h"
#include "tests/layers/detection/drawn_rcnn.h"
#include "tests/random/layer_row.h"

namespace doppio {
namespace {

// Adds a learned blob of the shape 1 x channels x height x width. The layers of a region proposal
// network take one image, but batches may have several.
std::optional<DraftBlob> AddLearnedMap(NetDraft* draft, int64_t channels, int64_t height,
                                       int64_t width) {
  std::string dims = "dim: 1";
  for (const int64_t extent : {channels, height, width}) dims += " dim: " + std::to_string(extent);
  return AddWithOneTop(draft, "Parameter", {}, "parameter_param { shape { " + dims + " } }",
                       BlobKind::kOther);
}

bool AddTargetLoss(NetDraft* draft, const std::string& type,
                   const std::vector<std::string>& bottoms, const std::string& fields = "") {
  return draft->Add({type, bottoms, 1, fields, {BlobKind::kOther}});
}

void SetAnchorChoice(Draw& draw, DrawnFields* fields) {
  fields->Maybe(0.6, "batch_size", draw.Of<int64_t>({1, 3, 8, 256}));
  fields->Maybe(0.5, "fg_fraction", draw.Of<double>({0.25, 0.5, 1}));
  fields->Maybe(0.5, "positive_overlap", draw.Real(0.3, 0.8));
  fields->Maybe(0.5, "negative_overlap", draw.Real(0.1, 0.5));
  fields->MaybeBool(0.4, "clobber_positives");
  fields->Maybe(0.7, "allowed_border", draw.Of<double>({0, 2, 99, -1}));
  fields->Maybe(0.4, "positive_weight", draw.Of<double>({-1, 0.25, 0.75}));
}

bool DrawAnchorTarget(NetDraft* draft) {
  Draw& draw = draft->draw();
  const DrawnAnchors anchors =
      DrawRcnnAnchors(draw, "rpn.anchor_target_layer", "AnchorTargetLayer");
  const int64_t a = anchors.count, height = draw.Int(1, 5), width = draw.Int(1, 5);
  const std::optional<DraftBlob> scores = AddLearnedMap(draft, 2 * a, height, width);
  if (!scores) return false;
  const std::optional<DraftBlob> codes = AddLearnedMap(draft, 4 * a, height, width);
  if (!codes) return false;
  const int64_t side = std::max(height, width) * anchors.stride;
  const std::optional<DraftBlob> objects = RcnnObjects(draft, side, draw.Int(1, 3));
  if (!objects) return false;
  const std::optional<DraftBlob> sizes = ImageSizes(draft, side);
  if (!sizes) return false;
  std::vector<std::string> bottoms = {scores->name, objects->name, sizes->name};
  const std::optional<DraftBlob> images = draft->Images();
  if (images && draw.Chance(0.5)) bottoms.push_back(images->name);
  DrawnFields fields(&draw);
  SetAnchorChoice(draw, &fields.Add(anchors.fields));
  const std::string text = fields.In("anchor_target_param") + anchors.python;
  if (!draft->Add({"AnchorTarget", bottoms, 4, text, std::vector<BlobKind>(4, BlobKind::kOther)}))
    return false;
  const std::vector<DraftBlob> tops = draft->tops();
  if (!AddTargetLoss(draft, "SmoothL1Loss",
                     {codes->name, tops[1].name, tops[2].name, tops[3].name}))
    return false;
  const std::optional<DraftBlob> of_two =
      AddWithOneTop(draft, "Reshape", {scores->name},
                    "reshape_param { shape { dim: 0 dim: 2 dim: -1 dim: 0 } }", BlobKind::kOther);
  return of_two && AddTargetLoss(draft, "SoftmaxWithLoss", {of_two->name, tops[0].name},
                                 "loss_param { ignore_label: -1 }");
}

// Returns proposal_target_param.
std::string ProposalTargetFields(Draw& draw, int64_t classes) {
  DrawnFields fields(&draw);
  fields.Set("num_classes", classes).Set("batch_size", draw.Of<int64_t>({0, 1, 3, 6}));
  fields.Maybe(0.5, "fg_fraction", draw.Of<double>({0.25, 0.5, 1}));
  fields.Maybe(0.5, "fg_thresh", draw.Real(0.2, 0.8));
  fields.Maybe(0.5, "bg_thresh_hi", draw.Real(0.35, 0.8));
  fields.Maybe(0.5, "bg_thresh_lo", draw.Real(0, 0.3));
  const bool means = draw.Chance(0.3), deviations = draw.Chance(0.5);
  for (int i = 0; i < 4 && means; ++i) fields.Set("bbox_mean", draw.Real(-0.2, 0.2));
  for (int i = 0; i < 4 && deviations; ++i) fields.Set("bbox_std", draw.Real(0.2, 1));
  const std::string python =
      draw.Chance(0.25) ? RcnnPython(draw, "rpn.proposal_target_layer", "ProposalTargetLayer",
                                     "'num_classes': " + std::to_string(classes))
                        : "";
  return fields.In("proposal_target_param") + python;
}

// Adds regions of image 0, one for each sample.
std::optional<DraftBlob> RegionsOfFirst(NetDraft* draft, int64_t side) {
  const DraftBlob image = draft->Numbers({"whole", 0, 0, {1}});
  const std::optional<DraftBlob> boxes = PixelBoxes(draft, side);
  return boxes ? Joined(draft, {image.name, boxes->name}, 1) : std::nullopt;
}

bool DrawProposalTarget(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::optional<DraftBlob> map = draft->Images();
  if (!map) return false;
  const double scale = draw.Of<double>({1, 0.5, 0.25});
  const double pixels = static_cast<double>(std::max(map->shape[2], map->shape[3])) / scale;
  const int64_t side = std::max<int64_t>(4, static_cast<int64_t>(pixels));
  const std::optional<DraftBlob> regions = RegionsOfFirst(draft, side);
  if (!regions) return false;
  const int64_t classes = draw.Int(2, 5);
  const std::optional<DraftBlob> objects = RcnnObjects(draft, side, classes - 1);
  if (!objects) return false;
  if (!draft->Add({"ProposalTarget",
                   {regions->name, objects->name},
                   5,
                   ProposalTargetFields(draw, classes),
                   std::vector<BlobKind>(5, BlobKind::kOther)}))
    return false;
  const std::vector<DraftBlob> tops = draft->tops();
  const std::optional<DraftBlob> pooled = AddRoiPooling(draft, *map, tops[0].name, scale);
  if (!pooled) return false;
  const std::optional<DraftBlob> scores = Projected(draft, *pooled, classes);
  if (!scores || !AddTargetLoss(draft, "SoftmaxWithLoss", {scores->name, tops[1].name}))
    return false;
  if (draw.Chance(0.4)) return true;
  const std::optional<DraftBlob> codes = Projected(draft, *pooled, 4 * classes);
  return codes && AddTargetLoss(draft, "SmoothL1Loss",
                                {codes->name, tops[2].name, tops[3].name, tops[4].name});
}

// The bottoms of BoxAnnotatorOHEM, and scores for a loss of the labels.
struct OhemBottoms {
  std::string scores, regions, losses, labels, weights;
};

// Regions with a row per sample.
std::optional<OhemBottoms> OhemOfRows(NetDraft* draft, int64_t classes) {
  const std::optional<DraftBlob> values = draft->Values(2);
  if (!values) return std::nullopt;
  const std::optional<DraftBlob> scores = Projected(draft, *values, classes);
  if (!scores) return std::nullopt;
  const DraftBlob regions = draft->Numbers({"regions", 0, 9, {5}}),
                  losses = draft->Numbers({"uniform", 0, 2, {1}}), labels = draft->Labels(classes),
                  weights = draft->Numbers({"uniform", 0, 1, {draft->draw().Int(1, 8)}});
  return OhemBottoms{scores->name, regions.name, losses.name, labels.name, weights.name};
}

// Regions with spatial axes: one for each position of a map.
std::optional<OhemBottoms> OhemOfMap(NetDraft* draft, int64_t classes) {
  const std::optional<DraftBlob> map = SmallMap(draft, 4);
  if (!map) return std::nullopt;
  const std::optional<DraftBlob> scores = AddConvolution(draft, *map, classes);
  if (!scores) return std::nullopt;
  const int64_t height = map->shape[2], width = map->shape[3];
  const DraftBlob rows = draft->Numbers({"regions", 0, 9, {height, width, 5}});
  const std::optional<DraftBlob> regions =
      AddWithOneTop(draft, "Permute", {rows.name},
                    "permute_param { order: 0 order: 3 order: 1 order: 2 }", BlobKind::kOther);
  if (!regions) return std::nullopt;
  const DraftBlob losses = draft->Numbers({"uniform", 0, 2, {1, height, width}}),
                  labels = draft->Labels(classes, {1, height, width}),
                  weights =
                      draft->Numbers({"uniform", 0, 1, {draft->draw().Int(1, 8), height, width}});
  return OhemBottoms{scores->name, regions->name, losses.name, labels.name, weights.name};
}

bool DrawBoxAnnotatorOhem(NetDraft* draft) {
  Draw& draw = draft->draw();
  const int64_t classes = draw.Int(2, 5);
  const std::optional<OhemBottoms> of =
      draw.Chance(0.7) ? OhemOfRows(draft, classes) : OhemOfMap(draft, classes);
  if (!of) return false;
  const int64_t ignored = draw.Of<int64_t>({-1, -1, 255, 0});
  DrawnFields fields(&draw);
  fields.Set("roi_per_img", draw.Of<int64_t>({1, 2, 128}));
  fields.Maybe(ignored == -1 ? 0.3 : 1, "ignore_label", ignored);
  if (!draft->Add({"BoxAnnotatorOHEM",
                   {of->regions, of->losses, of->labels, of->weights},
                   2,
                   fields.In("box_annotator_ohem_param"),
                   {BlobKind::kOther, BlobKind::kOther}}))
    return false;
  return AddTargetLoss(draft, "SoftmaxWithLoss", {of->scores, draft->tops().front().name},
                       "loss_param { ignore_label: " + std::to_string(ignored) + " }");
}

constexpr unsigned kChooses =
    LayerRow::kWholeBatch | LayerRow::kJumps | LayerRow::kNoBackward | LayerRow::kHostOnly;

DOPPIO_REGISTER(LayerRows, "AnchorTarget", {&DrawAnchorTarget, kChooses | LayerRow::kRandom, 0.3});
DOPPIO_REGISTER(LayerRows, "ProposalTarget",
                {&DrawProposalTarget, kChooses | LayerRow::kRandom, 0.3});
DOPPIO_REGISTER(LayerRows, "BoxAnnotatorOHEM", {&DrawBoxAnnotatorOhem, kChooses, 0.3});

}  // namespace
}  // namespace doppio
