// Rows of the losses and scores whose labels are the classes of positions: SoftmaxWithLoss,
// InfogainLoss, Accuracy and SegAccuracy.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_blobs.h"
#include "tests/layers/common/drawn_fields.h"
#include "tests/layers/loss/drawn_losses.h"
#include "tests/random/layer_row.h"

namespace doppio {
namespace {

// A prediction with its classes on one of the axes.
struct ClassPrediction {
  DraftBlob blob;
  int axis = 1;

  int64_t classes() const { return blob.shape[axis]; }
  // The positions of a sample.
  int64_t positions() const { return blob.shape.count(1) / classes(); }
  // Returns the axis as a file may give it: sometimes counted from the end.
  int AxisInFile(Draw& draw) const { return draw.Chance(0.3) ? axis - blob.shape.rank() : axis; }
};

// Finds a prediction of at least two classes. `any_axis`: not only on axis 1.
std::optional<ClassPrediction> DrawPrediction(NetDraft* draft, bool any_axis) {
  const std::optional<DraftBlob> scores = ClassScores(draft);
  if (!scores) return std::nullopt;
  ClassPrediction prediction{*scores};
  if (!any_axis || !draft->draw().Chance(0.25)) return prediction;
  std::vector<int> axes;
  for (int axis = 1; axis < scores->shape.rank(); ++axis) {
    if (scores->shape[axis] >= 2) axes.push_back(axis);
  }
  prediction.axis = draft->draw().Of(axes);
  return prediction;
}

// Returns a label for each position, in one of the shapes that have as many values.
DraftBlob DrawClassLabels(NetDraft* draft, const ClassPrediction& prediction) {
  std::vector<int64_t> sample(prediction.blob.shape.dims().begin() + 1,
                              prediction.blob.shape.dims().end());
  sample.erase(sample.begin() + prediction.axis - 1);
  if (draft->draw().Chance(0.4)) sample.insert(sample.begin(), 1);
  return draft->Labels(prediction.classes(), sample);
}

void MaybeIgnoreLabel(Draw& draw, double chance, int64_t classes, DrawnFields* fields) {
  fields->Maybe(chance, "ignore_label", draw.Of<int64_t>({0, 1, classes - 1, classes, 255, -1}));
}

// Adds softmax_param of a loss over the classes.
std::string SoftmaxFields(Draw& draw, const ClassPrediction& prediction) {
  DrawnFields fields(&draw);
  fields.Maybe(prediction.axis == 1 ? 0.2 : 1, "axis", prediction.AxisInFile(draw));
  fields.MaybeOneOf(0.2, "engine", {"DEFAULT", "CAFFE", "CUDNN"});
  return fields.In("softmax_param");
}

const std::vector<BlobKind>& LossKinds() {
  static const auto* kinds =
      new std::vector<BlobKind>{BlobKind::kOther, BlobKind::kValues, BlobKind::kValues};
  return *kinds;
}

// The labels are shares of all classes, of the prediction's shape.
bool AddSoftLabelLoss(NetDraft* draft, const std::string& type, const ClassPrediction& prediction) {
  Draw& draw = draft->draw();
  const Shape& shape = prediction.blob.shape;
  const double most = 2 / static_cast<double>(prediction.classes());
  const DraftBlob shares = draft->Numbers(
      {"uniform", 0, most, std::vector<int64_t>(shape.dims().begin() + 1, shape.dims().end())});
  DrawnFields fields(&draw);
  SetNormalization(draw, shape[0], prediction.positions(), &fields);
  fields.Maybe(0.3, "label_smoothing", draw.Real(0.05, 0.5));
  return draft->Add({type,
                     {prediction.blob.name, shares.name},
                     draw.Chance(0.3) ? 2 : 1,
                     SoftmaxFields(draw, prediction) + fields.In("loss_param"),
                     LossKinds()});
}

bool DrawSoftmaxLossType(NetDraft* draft, const char* type) {
  Draw& draw = draft->draw();
  const std::optional<ClassPrediction> prediction = DrawPrediction(draft, true);
  if (!prediction) return false;
  const int64_t way = draw.Int(0, 7);
  if (way == 0) return AddSoftLabelLoss(draft, type, *prediction);
  const bool smooths = way == 1, weighs = way == 2, counts = way == 3;
  DrawnFields fields(&draw);
  MaybeIgnoreLabel(draw, 0.3, prediction->classes(), &fields);
  SetNormalization(draw, prediction->blob.shape[0], prediction->positions(), &fields);
  fields.Maybe(smooths ? 1 : 0.06, "label_smoothing", smooths ? draw.Real(0.05, 0.5) : 0.0);
  fields.Maybe(weighs ? 1 : 0.06, "weight_by_label_freqs", weighs);
  for (int64_t c = 0; weighs && c < prediction->classes(); ++c)
    fields.Set("class_weighting", draw.Real(0, 2));
  for (int64_t c = 0; counts && c < prediction->classes(); ++c)
    fields.Set("class_counts", draw.Real(1, 9));
  const int tops =
      smooths || weighs || counts ? draw.Of<int>({1, 1, 2}) : draw.Of<int>({1, 1, 1, 2, 3});
  return draft->Add({type,
                     {prediction->blob.name, DrawClassLabels(draft, *prediction).name},
                     tops,
                     SoftmaxFields(draw, *prediction) + fields.In("loss_param"),
                     LossKinds()});
}
bool DrawSoftmaxWithLoss(NetDraft* draft) { return DrawSoftmaxLossType(draft, "SoftmaxWithLoss"); }
bool DrawSoftmaxWithLossOhem(NetDraft* draft) {
  return DrawSoftmaxLossType(draft, "SoftmaxWithLossOHEM");
}

// Adds a matrix of classes x classes numbers, which has no batch: the mean of numbers over samples.
std::optional<DraftBlob> AddInfogainMatrix(NetDraft* draft, int64_t classes) {
  const double most = 2 / static_cast<double>(classes);
  const DraftBlob numbers = draft->Numbers({"uniform", 0, most, {classes * classes}});
  const std::optional<DraftBlob> turned = AddWithOneTop(
      draft, "Permute", {numbers.name}, "permute_param { order: 1 order: 0 }", BlobKind::kOther);
  if (!turned) return std::nullopt;
  return AddWithOneTop(draft, "Reduction", {turned->name},
                       "reduction_param { operation: MEAN axis: 1 }", BlobKind::kOther);
}

// Returns the path of a file with such a matrix: the format is that of a mean image.
std::string InfogainFile(Draw& draw, int64_t classes) {
  const std::string side = std::to_string(classes);
  return "data/meanfloat_1x1x" + side + "x" + side + "_2_" + std::to_string(draw.Int(0, 9)) +
         ".binaryproto";
}

bool DrawInfogainLoss(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::optional<ClassPrediction> prediction = DrawPrediction(draft, true);
  if (!prediction) return false;
  std::vector<std::string> bottoms = {prediction->blob.name,
                                      DrawClassLabels(draft, *prediction).name};
  DrawnFields infogain(&draw), loss(&draw), softmax(&draw);
  if (draw.Chance(0.5)) {
    const std::optional<DraftBlob> matrix = AddInfogainMatrix(draft, prediction->classes());
    if (!matrix) return false;
    bottoms.push_back(matrix->name);
  } else {
    infogain.SetText("source", InfogainFile(draw, prediction->classes()));
  }
  const bool own_axis = prediction->axis != 1;
  infogain.Maybe(own_axis ? 1 : 0.3, "axis", prediction->AxisInFile(draw));
  softmax.Maybe(0.2, "axis", prediction->AxisInFile(draw));
  softmax.MaybeOneOf(0.2, "engine", {"DEFAULT", "CAFFE", "CUDNN"});
  MaybeIgnoreLabel(draw, 0.3, prediction->classes(), &loss);
  const int64_t positions = prediction->positions();
  const std::string mode = draw.Of<std::string>({"FULL", "VALID", "BATCH_SIZE", "PRE_FIXED"});
  if (mode == "PRE_FIXED") {
    loss.Set("normalization", mode).Set("pre_fixed_normalizer", positions);
  } else if (mode != "BATCH_SIZE" || positions <= 16) {
    loss.Maybe(0.7, "normalization", mode);
  }
  loss.Maybe(0.06, "label_smoothing", 0);
  return draft->Add(
      {"InfogainLoss", bottoms, draw.Chance(0.3) ? 2 : 1,
       infogain.In("infogain_loss_param") + loss.In("loss_param") + softmax.In("softmax_param"),
       LossKinds()});
}

bool DrawAccuracy(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::optional<ClassPrediction> prediction = DrawPrediction(draft, true);
  if (!prediction) return false;
  const int64_t classes = prediction->classes();
  DrawnFields fields(&draw);
  fields.Maybe(0.5, "top_k", draw.Of<int64_t>({1, 2, classes, draw.Int(1, classes)}));
  fields.Maybe(prediction->axis == 1 ? 0.2 : 1, "axis", prediction->AxisInFile(draw));
  MaybeIgnoreLabel(draw, 0.3, classes, &fields);
  return draft->Add({"Accuracy",
                     {prediction->blob.name, DrawClassLabels(draft, *prediction).name},
                     draw.Chance(0.3) ? 2 : 1,
                     fields.In("accuracy_param"),
                     {BlobKind::kOther, BlobKind::kOther}});
}

bool DrawSegAccuracy(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::optional<ClassPrediction> prediction = DrawPrediction(draft, false);
  if (!prediction) return false;
  DrawnFields fields(&draw);
  fields.Maybe(0.2, "top_k", 1).Maybe(0.3, "reset", draw.Chance(0.7));
  for (int i = 0; i < 2; ++i) MaybeIgnoreLabel(draw, 0.3, prediction->classes(), &fields);
  return draft->Add({"SegAccuracy",
                     {prediction->blob.name, DrawClassLabels(draft, *prediction).name},
                     1,
                     fields.In("seg_accuracy_param"),
                     {BlobKind::kOther}});
}

// InfogainLoss cuts probabilities as SoftmaxWithLoss does. Its weights may be negative, so a small
// loss does not prove that none was cut; the layer therefore counts as one with kinks.
unsigned InfogainTraits(const LayerParameter& layer) {
  return LayerRow::kKinks | (layer.bottom_size() > 2 ? unsigned{LayerRow::kWholeBatch} : 0u);
}

constexpr unsigned kScores = LayerRow::kJumps | LayerRow::kNoBackward | LayerRow::kHostOnly;

// Without `reset`, the counts are those of all batches.
unsigned SegAccuracyTraits(const LayerParameter& layer) {
  return kScores | (layer.seg_accuracy_param().reset() ? 0u : unsigned{LayerRow::kState});
}

DOPPIO_REGISTER(LayerRows, "SoftmaxWithLoss",
                {&DrawSoftmaxWithLoss, LayerRow::kCutsLogarithm, 3, {}, LayerRow::kLoss});
DOPPIO_REGISTER(LayerRows, "SoftmaxWithLossOHEM",
                {&DrawSoftmaxWithLossOhem, LayerRow::kCutsLogarithm, 0.3, {}, LayerRow::kLoss});
DOPPIO_REGISTER(LayerRows, "Accuracy", {&DrawAccuracy, kScores, 1, {}, LayerRow::kScore});
DOPPIO_REGISTER(
    LayerRows, "SegAccuracy",
    {&DrawSegAccuracy, kScores | LayerRow::kState, 0.5, {}, LayerRow::kScore, &SegAccuracyTraits});

LayerRow InfogainRow() {
  const std::string refused = "InfogainLoss refuses it";
  return {&DrawInfogainLoss,
          LayerRow::kWholeBatch | LayerRow::kKinks,
          0.7,
          {{"loss_param.normalize", refused},
           {"loss_param.class_weighting", refused},
           {"loss_param.class_counts", refused}},
          LayerRow::kLoss,
          &InfogainTraits};
}
DOPPIO_REGISTER(LayerRows, "InfogainLoss", InfogainRow());

}  // namespace
}  // namespace doppio
