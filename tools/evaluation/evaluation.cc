#include "tools/evaluation/evaluation.h"

#include <algorithm>
#include <cmath>

#include "data/decode/encode.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/evaluation/calibration.h"
#include "tools/evaluation/class_scores.h"
#include "tools/evaluation/rankings.h"
#include "tools/evaluation/regression_scores.h"
#include "tools/pages/html_text.h"

namespace doppio {
namespace {

using nlohmann::json;

constexpr size_t kMostCells = 100'000;        // of the confusion matrix
constexpr int64_t kMostCurvePoints = 20'000;  // of all curves together
constexpr int64_t kMostScatter = 2000;
constexpr size_t kMostOutputs = 1000;  // of a regression, with scores of their own

json ValueOrNull(const std::optional<double>& value) {
  return value ? NumberOrNull(*value) : json(nullptr);
}

json Proportion(int64_t right, int64_t all) {
  if (all == 0) return {{"value", nullptr}};
  const Interval interval = WilsonInterval(right, all);
  return {{"value", static_cast<double>(right) / static_cast<double>(all)},
          {"low", interval.low},
          {"high", interval.high}};
}

// Returns numbers of a curve with five digits, which are enough to draw it.
json CurveNumbers(const std::vector<double>& values) {
  json numbers = json::array();
  for (const double value : values) numbers.push_back(std::round(value * 1e5) / 1e5);
  return numbers;
}

json MeansJson(const MeanScores& mean) {
  return {{"precision", mean.precision}, {"recall", mean.recall}, {"f1", mean.f1}};
}

json ConfusionJson(const Confusion& confusion) {
  std::vector<ConfusionCell> cells = confusion.cells;
  if (cells.size() > kMostCells) {
    std::stable_sort(cells.begin(), cells.end(),
                     [](const auto& a, const auto& b) { return a.count > b.count; });
    cells.resize(kMostCells);
  }
  json rows = json::array();
  for (const ConfusionCell& cell : cells) rows.push_back({cell.label, cell.predicted, cell.count});
  return rows;
}

// Adds the counts of the classes, their scores and the matrix.
void AddClassScores(const Confusion& confusion, const Predictions& predictions, json* out) {
  const std::vector<ClassScores> classes = ScoreClasses(confusion);
  (*out)["classes"] = confusion.classes;
  (*out)["class_names"] = predictions.class_names;
  (*out)["samples"] = confusion.total();
  (*out)["ignored"] = predictions.ignored;
  (*out)["accuracy"] = Proportion(confusion.right(), confusion.total());
  (*out)["macro"] = MeansJson(MacroMean(classes));
  (*out)["weighted"] = MeansJson(WeightedMean(classes));
  (*out)["confusion"] = ConfusionJson(confusion);
  (*out)["confusion_left_out"] = confusion.cells.size() - (*out)["confusion"].size();
  for (size_t c = 0; c < classes.size(); ++c) {
    const ClassScores& one = classes[c];
    json row = {{"class", c},
                {"support", one.support},
                {"predicted", one.predicted},
                {"right", one.right},
                {"precision", ValueOrNull(one.precision())},
                {"recall", ValueOrNull(one.recall())},
                {"f1", ValueOrNull(one.f1())}};
    if (!predictions.class_names.empty()) row["name"] = predictions.class_names[c];
    if (one.support > 0) {
      const Interval interval = WilsonInterval(one.right, one.support);
      row["recall_low"] = interval.low;
      row["recall_high"] = interval.high;
    }
    if (predictions.head.kind == HeadKind::kSegmentation) row["iou"] = ValueOrNull(one.iou());
    (*out)["per_class"].push_back(std::move(row));
  }
}

void AddTopK(const Predictions& predictions, json* out) {
  (*out)["top_k"] = json::array();
  const auto all = static_cast<int64_t>(predictions.rows.size());
  for (const int64_t k : {2, 3, 5, 10}) {
    if (k >= predictions.classes) break;
    json top = Proportion(std::count_if(predictions.rows.begin(), predictions.rows.end(),
                                        [k](const Prediction& row) { return row.place <= k; }),
                          all);
    top["k"] = k;
    (*out)["top_k"].push_back(std::move(top));
  }
}

// Ranks the samples by the probability of `label`, or by confidence if the probabilities were not
// kept; the positive samples are then those that are predicted right.
SampleRanking RankClass(const Predictions& predictions, int64_t label) {
  std::vector<float> scores;
  std::vector<uint8_t> positive;
  for (size_t i = 0; i < predictions.rows.size(); ++i) {
    const Prediction& row = predictions.rows[i];
    const size_t at = i * static_cast<size_t>(predictions.width) + static_cast<size_t>(label);
    scores.push_back(predictions.values.empty() ? row.confidence : predictions.values[at]);
    positive.push_back(predictions.values.empty() ? row.right() : row.label == label);
  }
  return RankSamples(scores, positive);
}

json CurveJson(const SampleRanking& ranking, const RankingScores& scores, size_t points) {
  const RankingCurve curve = CurveOf(ranking, points);
  return {{"auc", ValueOrNull(scores.auc)},
          {"average_precision", ValueOrNull(scores.average_precision)},
          {"false_positives", CurveNumbers(curve.false_positives)},
          {"recall", CurveNumbers(curve.recall)},
          {"precision", CurveNumbers(curve.precision)}};
}

// Adds the curves, with their areas: of each class against the rest, of class 1 if there are two
// classes, or of the confidence.
void AddCurves(const Predictions& predictions, uint64_t seed, json* out) {
  const bool kept = !predictions.values.empty(), two = predictions.classes == 2;
  const int64_t first = two ? 1 : 0, end = kept ? predictions.classes : first + 1;
  const int64_t points = std::clamp<int64_t>(kMostCurvePoints / (end - first), 20, 200);
  std::vector<SampleRanking> rankings;
  double auc = 0, precision = 0;
  (*out)["curves"] = json::array();
  for (int64_t label = first; label < end; ++label) {
    SampleRanking ranking = RankClass(predictions, label);
    const RankingScores scores = ScoreRanking(ranking);
    if (!scores.auc) continue;
    json curve = CurveJson(ranking, scores, static_cast<size_t>(points));
    if (kept) {
      curve["class"] = label;
      (*out)["per_class"][label]["auc"] = *scores.auc;
      (*out)["per_class"][label]["average_precision"] = *scores.average_precision;
    }
    (*out)["curves"].push_back(std::move(curve));
    rankings.push_back(std::move(ranking));
    auc += *scores.auc;
    precision += *scores.average_precision;
  }
  (*out)["curves_of"] = !kept ? "confidence" : two ? "positive class" : "each class";
  json& areas = (*out)["auc"] = {{"value", nullptr}};
  (*out)["average_precision"] = nullptr;
  if (rankings.empty()) return;
  const auto count = static_cast<double>(rankings.size());
  areas["value"] = auc / count;
  (*out)["average_precision"] = precision / count;
  const std::optional<Interval> interval = BootstrapAuc(rankings, seed);
  if (!interval) return;
  areas["low"] = interval->low;
  areas["high"] = interval->high;
}

void AddCalibration(const Predictions& predictions, json* out) {
  const Calibration calibration = Calibrate(predictions.rows);
  (*out)["ece"] = calibration.error;
  for (const ReliabilityBin& bin : calibration.bins) {
    (*out)["calibration"].push_back({{"low", bin.low},
                                     {"high", bin.high},
                                     {"samples", bin.samples},
                                     {"confidence", bin.confidence},
                                     {"accuracy", bin.accuracy}});
  }
}

void AddWrong(const Predictions& predictions, json* out) {
  (*out)["wrong_count"] = predictions.wrong_rows;
  (*out)["wrong"] = json::array();
  for (const WrongPrediction& wrong : predictions.wrong) {
    const Prediction& row = predictions.rows[wrong.row];
    (*out)["wrong"].push_back({{"name", wrong.name},
                               {"sample", wrong.sample},
                               {"label", row.label},
                               {"predicted", row.predicted},
                               {"confidence", row.confidence}});
  }
}

void EvaluateClasses(const Predictions& predictions, uint64_t seed, json* out) {
  AddClassScores(CountConfusion(predictions), predictions, out);
  if (predictions.head.kind == HeadKind::kSegmentation) {
    (*out)["kind"] = "segmentation";
    (*out)["mean_iou"] = MacroMean(ScoreClasses(CountConfusion(predictions))).iou;
    return;
  }
  (*out)["kind"] = "classifier";
  AddTopK(predictions, out);
  AddCalibration(predictions, out);
  AddWrong(predictions, out);
  const Interval f1 = BootstrapMacroF1(predictions.rows, predictions.classes, seed);
  (*out)["macro"]["f1_low"] = f1.low;
  (*out)["macro"]["f1_high"] = f1.high;
  AddCurves(predictions, seed, out);
  if (predictions.values.empty() && !predictions.rows.empty()) {
    (*out)["notes"].push_back("there are more than " + Thousands(kMostKeptValues) +
                              " values (samples x classes), so the curves are those of the "
                              "confidence: they show how well it tells right from wrong");
  }
}

void EvaluateNumbers(const Predictions& predictions, json* out) {
  (*out)["kind"] = "regression";
  (*out)["samples"] = predictions.rows.size();
  if (predictions.values.empty()) {
    (*out)["notes"].push_back("there are no values, or more than " + Thousands(kMostKeptValues) +
                              ", so they are not evaluated");
    return;
  }
  const auto numbers = [](const NumberScores& scores) {
    return json{{"count", scores.count},
                {"mae", NumberOrNull(scores.mae)},
                {"rmse", NumberOrNull(scores.rmse)},
                {"r2", ValueOrNull(scores.r2)}};
  };
  const RegressionScores scores = ScoreRegression(predictions);
  out->update(numbers(scores.all));
  (*out)["outputs"] = json::array();
  for (const NumberScores& one : scores.outputs) {
    if ((*out)["outputs"].size() < kMostOutputs) (*out)["outputs"].push_back(numbers(one));
  }
  json targets = json::array(), predicted = json::array();
  for (const auto& [target, value] : ScatterOf(predictions, kMostScatter)) {
    targets.push_back(NumberOrNull(static_cast<double>(target)));
    predicted.push_back(NumberOrNull(static_cast<double>(value)));
  }
  (*out)["scatter"] = {{"target", targets}, {"predicted", predicted}};
}

}  // namespace

json Evaluate(const Predictions& predictions, uint64_t seed) {
  json out = {{"scores", predictions.scores_blob},
              {"labels", predictions.labels_blob},
              {"layer", predictions.head.layer},
              {"heads", predictions.head.heads},
              {"seed", seed},
              {"notes", json::array()}};
  if (predictions.head.heads > 1) {
    out["notes"].push_back("the net has " + std::to_string(predictions.head.heads) +
                           " heads; this is the first one, layer '" + predictions.head.layer +
                           "' with the scores '" + predictions.scores_blob + "'");
  }
  if (predictions.head.kind == HeadKind::kRegression) {
    EvaluateNumbers(predictions, &out);
  } else {
    EvaluateClasses(predictions, seed, &out);
  }
  return out;
}

void AddThumbnails(const Predictions& predictions, json* evaluation) {
  for (size_t i = 0; i < predictions.wrong.size(); ++i) {
    const int64_t position = predictions.rows[predictions.wrong[i].row].position;
    for (const Thumbnail& thumbnail : predictions.thumbnails) {
      if (thumbnail.position != position) continue;
      Image image;
      image.shape = {thumbnail.channels, thumbnail.height, thumbnail.width};
      image.bytes.assign(thumbnail.bytes, thumbnail.bytes + image.shape.count());
      (*evaluation)["wrong"][i]["image"] =
          "data:image/png;base64," + Base64(Encode(image, ImageFormat::kPng));
    }
  }
}

json ToJson(const PairedComparison& comparison, const std::string& baseline) {
  return {{"weights", baseline},
          {"samples", comparison.samples},
          {"only_these_right", comparison.only_first},
          {"only_baseline_right", comparison.only_second},
          {"difference", comparison.difference},
          {"low", comparison.interval.low},
          {"high", comparison.interval.high},
          {"p", comparison.p},
          {"test", comparison.exact ? "exact" : "chi-square"}};
}

std::string ClassText(const json& evaluation, int64_t label) {
  const json& names = evaluation["class_names"];
  const std::string number = std::to_string(label);
  if (names.empty()) return number;
  return number + " " + names[static_cast<size_t>(label)].get<std::string>();
}

}  // namespace doppio
