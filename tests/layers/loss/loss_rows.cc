// Rows of the losses that compare values, and of those that sum over all scores of a sample:
// EuclideanLoss, L1Loss, SigmoidCrossEntropyLoss, SmoothL1Loss, ContrastiveLoss, HingeLoss and
// MultinomialLogisticLoss. label_rows.cc has those whose labels are classes of positions.
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_blobs.h"
#include "tests/layers/common/drawn_fields.h"
#include "tests/layers/loss/drawn_losses.h"
#include "tests/random/layer_row.h"

namespace doppio {
namespace {

constexpr int64_t kMostLossValues = 128;  // of a sample

// Returns numbers of the shape of `like`, or sometimes of another shape with as many values.
DraftBlob NumbersLike(NetDraft* draft, const DraftBlob& like, const std::string& kind, double low,
                      double high) {
  std::vector<int64_t> sample(like.shape.dims().begin() + 1, like.shape.dims().end());
  if (draft->draw().Chance(0.2)) sample = {like.shape.count(1)};
  return draft->Numbers({kind, low, high, sample});
}

// Returns what a prediction is compared with: other values of the net, or numbers.
DraftBlob DrawTarget(NetDraft* draft, const DraftBlob& prediction) {
  if (draft->draw().Chance(0.4)) {
    if (const std::optional<DraftBlob> other = draft->SameShape(prediction)) return *other;
  }
  return NumbersLike(draft, prediction, "uniform", -1, 1);
}

// Adds a loss with one top.
bool AddLoss(NetDraft* draft, const std::string& type, const std::vector<std::string>& bottoms,
             const std::string& fields = "") {
  return draft->Add({type, bottoms, 1, fields, {BlobKind::kOther}});
}

bool DrawTwoSidedLoss(NetDraft* draft, const char* type) {
  const std::optional<DraftBlob> prediction = FewValues(draft, kMostLossValues);
  if (!prediction) return false;
  return AddLoss(draft, type, {prediction->name, DrawTarget(draft, *prediction).name});
}
bool DrawEuclideanLoss(NetDraft* draft) { return DrawTwoSidedLoss(draft, "EuclideanLoss"); }
bool DrawL1Loss(NetDraft* draft) { return DrawTwoSidedLoss(draft, "L1Loss"); }

bool DrawSigmoidCrossEntropyLoss(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::optional<DraftBlob> prediction = FewValues(draft, kMostLossValues);
  if (!prediction) return false;
  DrawnFields fields(&draw);
  // Targets are truncated to integers before they are compared with ignore_label, so that a
  // label of 0 would ignore almost all shares.
  const bool whole = draw.Chance(0.6);
  if (whole) fields.Maybe(0.4, "ignore_label", draw.Of<int>({0, 1, -1, 255}));
  SetNormalization(draw, prediction->shape[0], prediction->shape.count(1), &fields);
  const DraftBlob target = NumbersLike(draft, *prediction, whole ? "whole" : "uniform", 0, 1);
  return AddLoss(draft, "SigmoidCrossEntropyLoss", {prediction->name, target.name},
                 fields.In("loss_param"));
}

bool DrawSmoothL1(NetDraft* draft, const char* type) {
  Draw& draw = draft->draw();
  const std::optional<DraftBlob> prediction = FewValues(draft, kMostLossValues);
  if (!prediction) return false;
  std::vector<std::string> bottoms = {prediction->name, DrawTarget(draft, *prediction).name};
  // Weights: inside, then outside.
  const int64_t weights = draw.Int(0, 2);
  for (int64_t i = 0; i < weights; ++i)
    bottoms.push_back(NumbersLike(draft, *prediction, "uniform", 0, 1.5).name);
  DrawnFields smooth(&draw), loss(&draw);
  smooth.Maybe(0.6, "sigma", draw.Of<double>({0.5, 1, 2, 3}));
  SetNormalization(draw, prediction->shape[0], prediction->shape.count(1), &loss);
  return draft->Add({type,
                     bottoms,
                     draw.Chance(0.3) ? 2 : 1,
                     smooth.In("smooth_l1_loss_param") + loss.In("loss_param"),
                     {BlobKind::kOther, BlobKind::kValues}});
}
bool DrawSmoothL1Loss(NetDraft* draft) { return DrawSmoothL1(draft, "SmoothL1Loss"); }
bool DrawSmoothL1LossOhem(NetDraft* draft) { return DrawSmoothL1(draft, "SmoothL1LossOHEM"); }

bool DrawContrastiveLoss(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::optional<DraftBlob> first = FewValues(draft, kMostLossValues);
  if (!first) return false;
  const DraftBlob second = DrawTarget(draft, *first);
  const auto sample = draw.Of<std::vector<int64_t>>({{}, {1}, {1, 1, 1}});
  const DraftBlob similar = draft->Numbers({"whole", 0, 1, sample});
  DrawnFields fields(&draw);
  fields.Maybe(0.6, "margin", draw.Real(0.2, 4)).MaybeBool(0.4, "legacy_version");
  return AddLoss(draft, "ContrastiveLoss", {first->name, second.name, similar.name},
                 fields.In("contrastive_loss_param"));
}

// Returns a label for each sample, one of the values of the sample.
DraftBlob LabelOfSample(NetDraft* draft, const DraftBlob& scores) {
  const auto sample = draft->draw().Of<std::vector<int64_t>>({{}, {}, {1}, {1, 1, 1}});
  return draft->Labels(scores.shape.count(1), sample);
}

bool DrawHingeLoss(NetDraft* draft) {
  const std::optional<DraftBlob> scores = FewValues(draft, kMostLossValues);
  if (!scores) return false;
  DrawnFields fields(&draft->draw());
  fields.MaybeOneOf(0.7, "norm", {"L1", "L2"});
  return AddLoss(draft, "HingeLoss", {scores->name, LabelOfSample(draft, *scores).name},
                 fields.In("hinge_loss_param"));
}

// MultinomialLogisticLoss reads probabilities, so a Softmax makes them.
bool DrawMultinomialLogisticLoss(NetDraft* draft) {
  const std::optional<DraftBlob> scores = FewValues(draft, kMostLossValues);
  if (!scores) return false;
  const std::optional<DraftBlob> shares = AddWithOneTop(draft, "Softmax", {scores->name});
  if (!shares) return false;
  return AddLoss(draft, "MultinomialLogisticLoss",
                 {shares->name, LabelOfSample(draft, *shares).name});
}

// The oracle's second top has as many axes as the prediction.
unsigned SmoothL1Traits(const LayerParameter& layer) {
  return layer.top_size() > 1 ? unsigned{LayerRow::kNoOracle} : 0u;
}
unsigned HingeTraits(const LayerParameter& layer) {
  const bool jumps = layer.hinge_loss_param().norm() == HingeLossParameter::L1;
  return jumps ? unsigned{LayerRow::kKinks} : 0u;
}

LayerRow LossRow(bool (*draw)(NetDraft*), unsigned traits, double weight,
                 unsigned (*traits_of)(const LayerParameter&) = nullptr) {
  return {draw, traits, weight, {}, LayerRow::kLoss, traits_of};
}

DOPPIO_REGISTER(LayerRows, "EuclideanLoss", LossRow(&DrawEuclideanLoss, 0, 1));
DOPPIO_REGISTER(LayerRows, "L1Loss", LossRow(&DrawL1Loss, LayerRow::kKinks, 0.5));
DOPPIO_REGISTER(LayerRows, "SigmoidCrossEntropyLoss", LossRow(&DrawSigmoidCrossEntropyLoss, 0, 1));
DOPPIO_REGISTER(LayerRows, "SmoothL1Loss",
                LossRow(&DrawSmoothL1Loss, LayerRow::kNoOracle, 0.5, &SmoothL1Traits));
DOPPIO_REGISTER(LayerRows, "SmoothL1LossOHEM",
                LossRow(&DrawSmoothL1LossOhem, LayerRow::kNoOracle, 0.3, &SmoothL1Traits));
DOPPIO_REGISTER(LayerRows, "ContrastiveLoss", LossRow(&DrawContrastiveLoss, LayerRow::kKinks, 0.7));
DOPPIO_REGISTER(LayerRows, "HingeLoss",
                LossRow(&DrawHingeLoss, LayerRow::kKinks, 0.7, &HingeTraits));
DOPPIO_REGISTER(LayerRows, "MultinomialLogisticLoss",
                LossRow(&DrawMultinomialLogisticLoss, LayerRow::kCutsLogarithm, 0.7));

}  // namespace
}  // namespace doppio
