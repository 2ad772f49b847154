// Tests the arithmetic of evaluations against numbers computed by hand, and the evaluation of whole
// sets of predictions.
#include "tools/evaluation/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/base/error.h"
#include "tools/evaluation/calibration.h"
#include "tools/evaluation/class_scores.h"
#include "tools/evaluation/evaluation_files.h"
#include "tools/evaluation/evaluation_text.h"
#include "tools/evaluation/regression_scores.h"

namespace doppio {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Prediction Row(int64_t position, int label, int predicted, float confidence, int place) {
  return {position, label, predicted, place, confidence};
}

// Three classes, none with label 2. Class 0: right, right, taken for 1; class 1: right, taken
// for 2.
Predictions FiveRows() {
  Predictions p;
  p.classes = p.width = 3;
  p.scores_blob = "ip";
  p.labels_blob = "label";
  p.class_names = {"고양이 cat", "dog, big", "fox"};
  p.rows = {Row(0, 0, 0, 0.9f, 1), Row(1, 0, 0, 0.6f, 1), Row(2, 0, 1, 0.7f, 2),
            Row(3, 1, 1, 0.8f, 1), Row(4, 1, 2, 0.5f, 3)};
  p.values = {0.9f, 0.05f, 0.05f, 0.6f, 0.3f, 0.1f, 0.2f, 0.7f,
              0.1f, 0.1f,  0.8f,  0.1f, 0.3f, 0.2f, 0.5f};
  p.wrong = {{2, 2, "a b.jpg"}, {4, 4, "한.jpg"}};
  p.wrong_rows = 2;
  return p;
}

TEST(ClassScores, AreRatiosOfCounts) {
  const Confusion confusion = CountConfusion(FiveRows());
  EXPECT_EQ(confusion.total(), 5);
  EXPECT_EQ(confusion.right(), 3);
  const std::vector<ClassScores> scores = ScoreClasses(confusion);
  EXPECT_EQ(scores[0].precision(), 1);
  EXPECT_NEAR(*scores[0].recall(), 2.0 / 3, 1e-12);
  EXPECT_NEAR(*scores[0].f1(), 0.8, 1e-12);
  EXPECT_NEAR(*scores[1].f1(), 0.5, 1e-12);
  EXPECT_NEAR(*scores[1].iou(), 1.0 / 3, 1e-12);
  // Class 2 has no labels, but a prediction.
  EXPECT_FALSE(scores[2].recall());
  EXPECT_EQ(scores[2].precision(), 0);
  const MeanScores macro = MacroMean(scores), weighted = WeightedMean(scores);
  EXPECT_NEAR(macro.f1, (0.8 + 0.5 + 0) / 3, 1e-12);
  EXPECT_NEAR(macro.precision, (1 + 0.5 + 0) / 3, 1e-12);
  EXPECT_NEAR(weighted.f1, (3 * 0.8 + 2 * 0.5) / 5, 1e-12);
}

TEST(ClassScores, LeaveOutAClassWithoutLabelsAndPredictionsOfTheMeans) {
  Predictions p = FiveRows();
  p.classes = 4;
  EXPECT_NEAR(MacroMean(ScoreClasses(CountConfusion(p))).f1, 1.3 / 3, 1e-12);
  EXPECT_EQ(MacroMean({}).f1, 0);
}

TEST(Intervals, AreWilsons) {
  // From R: binom::binom.wilson(8, 10).
  const Interval some = WilsonInterval(8, 10);
  EXPECT_NEAR(some.low, 0.4901625, 1e-6);
  EXPECT_NEAR(some.high, 0.9433178, 1e-6);
  EXPECT_EQ(WilsonInterval(0, 5).low, 0);
  EXPECT_EQ(WilsonInterval(5, 5).high, 1);
}

TEST(PairedComparison, IsExactForFewDifferences) {
  const PairedComparison few = CompareCounts(1, 5, 100);
  EXPECT_TRUE(few.exact);
  EXPECT_NEAR(few.p, 2 * (1 + 6) / 64.0, 1e-9);
  EXPECT_NEAR(few.difference, -0.04, 1e-12);
  EXPECT_LT(few.interval.low, -0.04);
  EXPECT_GT(few.interval.high, -0.04);
  EXPECT_EQ(CompareCounts(0, 0, 10).p, 1);
  EXPECT_EQ(CompareCounts(3, 3, 10).p, 1);
}

TEST(PairedComparison, IsChiSquareForMany) {
  const PairedComparison many = CompareCounts(10, 30, 1000);
  EXPECT_FALSE(many.exact);
  EXPECT_NEAR(many.p, 0.0026631, 1e-6);  // SciPy: chi2.sf(19**2 / 40, 1)
  // (10 - 30) / 1002 -+ 1.96 / 1002 * sqrt(41 - 400 / 1002)
  EXPECT_NEAR(many.interval.low, -0.0324238, 1e-6);
  EXPECT_NEAR(many.interval.high, -0.0074964, 1e-6);
}

TEST(PairedComparison, NeedsTheSameSamples) {
  const Predictions a = FiveRows();
  Predictions b = FiveRows();
  EXPECT_EQ(ComparePredictions(a.rows, b.rows).difference, 0);
  b.rows[1].label = 1;
  try {
    ComparePredictions(a.rows, b.rows);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("had different labels"));
  }
}

TEST(Rankings, HaveTheAreasOfScikitLearnsExample) {
  const SampleRanking ranking = RankSamples({0.1f, 0.4f, 0.35f, 0.8f}, {0, 0, 1, 1});
  const RankingScores scores = ScoreRanking(ranking);
  EXPECT_NEAR(*scores.auc, 0.75, 1e-12);
  EXPECT_NEAR(*scores.average_precision, 0.5 + 0.5 * 2 / 3, 1e-12);
  // The third sample twice, and the last one not at all: both pairs of it and sample 1 are wrong.
  EXPECT_NEAR(*ScoreRanking(ranking, {1, 1, 2, 0}).auc, 0.5, 1e-12);
}

TEST(Rankings, CountTiesAsHalf) {
  const SampleRanking ranking = RankSamples({0.5f, 0.5f, 0.5f}, {1, 0, 0});
  EXPECT_NEAR(*ScoreRanking(ranking).auc, 0.5, 1e-12);
  EXPECT_NEAR(*ScoreRanking(ranking).average_precision, 1.0 / 3, 1e-12);
  EXPECT_FALSE(ScoreRanking(RankSamples({0.5f, 0.2f}, {1, 1})).auc);
  EXPECT_FALSE(ScoreRanking(RankSamples({}, {})).auc);
}

TEST(Rankings, GiveCurvesWithFewPointsThatKeepTheirEnds) {
  std::vector<float> scores;
  std::vector<uint8_t> positive;
  for (int i = 0; i < 1000; ++i) {
    scores.push_back(static_cast<float>(i) / 1000);
    positive.push_back(i % 3 == 0);
  }
  const RankingCurve curve = CurveOf(RankSamples(scores, positive), 50);
  EXPECT_LE(curve.recall.size(), 52u);
  EXPECT_EQ(curve.recall.front(), 0);
  EXPECT_EQ(curve.recall.back(), 1);
  EXPECT_EQ(curve.false_positives.back(), 1);
  EXPECT_NEAR(curve.precision.back(), 334.0 / 1000, 1e-12);
}

TEST(Calibration, IsTheMeanDistanceOfConfidenceAndAccuracy) {
  const Calibration c =
      Calibrate({Row(0, 0, 0, 0.9f, 1), Row(1, 0, 1, 0.9f, 2), Row(2, 0, 1, 0.85f, 2)});
  EXPECT_NEAR(c.error, (2 * 0.4 + 0.85) / 3, 1e-7);
  ASSERT_EQ(c.bins.size(), 15u);
  EXPECT_EQ(c.bins[13].samples, 2);
  EXPECT_EQ(c.bins[12].samples, 1);
  EXPECT_EQ(Calibrate({}).error, 0);
}

TEST(Bootstrap, DependsOnTheSeedOnly) {
  Predictions p = FiveRows();
  for (int i = 5; i < 200; ++i) {
    const int label = i % 2, predicted = i % 3 == 0 ? 0 : label;
    p.rows.push_back(Row(i, label, predicted, 0.5f, label == predicted ? 1 : 2));
  }
  const int threads = omp_get_max_threads();
  std::vector<Interval> found;
  for (int n : {1, 2, 3}) {
    omp_set_num_threads(n);
    found.push_back(BootstrapMacroF1(p.rows, 3, 7));
  }
  omp_set_num_threads(threads);
  EXPECT_EQ(found[0].low, found[1].low);
  EXPECT_EQ(found[0].high, found[2].high);
  EXPECT_NE(found[0].low, BootstrapMacroF1(p.rows, 3, 8).low);
  const double f1 = MacroMean(ScoreClasses(CountConfusion(p))).f1;
  EXPECT_LT(found[0].low, f1);
  EXPECT_GT(found[0].high, f1);
}

TEST(Bootstrap, HasNoIntervalWithoutBothKinds) {
  EXPECT_FALSE(BootstrapAuc({}, 1));
  EXPECT_FALSE(BootstrapAuc({RankSamples({0.1f, 0.2f}, {1, 1})}, 1));
}

Predictions Numbers() {
  Predictions p;
  p.head.kind = HeadKind::kRegression;
  p.head.ignore = 9;
  p.width = 4;  // two predictions, two targets
  p.rows = {{0}, {1}, {2}, {3}};
  p.values = {1, 5, 1, 4, 2, 5, 2, 4, 5, 5, 3, 4, 7, 5, 9, 4};
  return p;
}

TEST(RegressionScores, AreOfEachOutputAndOfAll) {
  const RegressionScores scores = ScoreRegression(Numbers());
  ASSERT_EQ(scores.outputs.size(), 2u);
  EXPECT_EQ(scores.outputs[0].count, 3);  // the target 9 is ignored
  EXPECT_NEAR(scores.outputs[0].mae, 2.0 / 3, 1e-12);
  EXPECT_NEAR(scores.outputs[0].rmse, std::sqrt(4.0 / 3), 1e-12);
  EXPECT_NEAR(*scores.outputs[0].r2, -1, 1e-12);
  EXPECT_FALSE(scores.outputs[1].r2);  // all its targets are 4
  EXPECT_NEAR(scores.all.mae, (2.0 + 4) / 7, 1e-12);
  EXPECT_NEAR(*scores.all.r2, -1, 1e-12);
  EXPECT_EQ(ScatterOf(Numbers(), 100).size(), 7u);
  EXPECT_LE(ScatterOf(Numbers(), 3).size(), 3u);
}

TEST(Evaluation, OfAClassifierHasAllScores) {
  const json e = Evaluate(FiveRows(), 1);
  EXPECT_EQ(e["kind"], "classifier");
  EXPECT_EQ(e["accuracy"]["value"], 0.6);
  EXPECT_EQ(e["top_k"][0]["k"], 2);
  EXPECT_EQ(e["top_k"][0]["value"], 0.8);
  EXPECT_EQ(e["confusion"], json({{0, 0, 2}, {0, 1, 1}, {1, 1, 1}, {1, 2, 1}}));
  EXPECT_EQ(e["per_class"][2]["recall"], nullptr);
  EXPECT_EQ(e["per_class"][0]["name"], "고양이 cat");
  EXPECT_FALSE(e["per_class"][2].contains("auc"));  // no label of class 2
  // Of class 0, 0.9 and 0.6 are above both others, and 0.2 is below 0.3: 5 of 6 pairs.
  EXPECT_NEAR(e["per_class"][0]["auc"].get<double>(), 5.0 / 6, 1e-12);
  EXPECT_EQ(e["wrong"][0]["name"], "a b.jpg");
  EXPECT_EQ(e["curves_of"], "each class");
  EXPECT_TRUE(e["notes"].empty());
}

TEST(Evaluation, OfTwoClassesHasTheCurveOfTheSecond) {
  Predictions p;
  p.classes = p.width = 2;
  p.rows = {Row(0, 0, 0, 0.9f, 1), Row(1, 1, 1, 0.6f, 1)};
  p.values = {0.9f, 0.1f, 0.4f, 0.6f};
  const json e = Evaluate(p, 1);
  ASSERT_EQ(e["curves"].size(), 1u);
  EXPECT_EQ(e["curves"][0]["class"], 1);
  EXPECT_EQ(e["auc"]["value"], 1);
  EXPECT_TRUE(e["top_k"].empty());
}

TEST(Evaluation, WithoutProbabilitiesHasTheCurveOfTheConfidence) {
  Predictions p = FiveRows();
  p.values.clear();
  const json e = Evaluate(p, 1);
  ASSERT_EQ(e["curves"].size(), 1u);
  EXPECT_FALSE(e["curves"][0].contains("class"));
  // Right: 0.9, 0.6, 0.8; wrong: 0.7, 0.5. Of six pairs, only 0.6 and 0.7 are the wrong way round.
  EXPECT_NEAR(e["auc"]["value"].get<double>(), 5.0 / 6, 1e-6);
  EXPECT_THAT(e["notes"][0].get<std::string>(), HasSubstr("more than 10 000 000 values"));
}

TEST(Evaluation, OfNothingIsNull) {
  Predictions p;
  p.classes = p.width = 3;
  p.ignored = 4;
  const json e = Evaluate(p, 1);
  EXPECT_EQ(e["accuracy"]["value"], nullptr);
  EXPECT_EQ(e["auc"]["value"], nullptr);
  EXPECT_EQ(e["ignored"], 4);
  std::ostringstream text;
  PrintEvaluation(e, text);
  EXPECT_THAT(text.str(), HasSubstr("0 samples, 4 ignored"));
}

TEST(Evaluation, OfOneClassHasNoCurve) {
  Predictions p;
  p.classes = p.width = 1;
  p.rows = {Row(0, 0, 0, 1, 1)};
  p.values = {1};
  const json e = Evaluate(p, 1);
  EXPECT_EQ(e["accuracy"]["value"], 1);
  EXPECT_TRUE(e["curves"].empty());
}

TEST(Evaluation, OfPixelsHasTheIntersectionOverUnion) {
  Predictions p;
  p.head.kind = HeadKind::kSegmentation;
  p.classes = 2;
  p.pixels = {6, 2, 1, 3};
  const json e = Evaluate(p, 1);
  EXPECT_EQ(e["kind"], "segmentation");
  EXPECT_NEAR(e["per_class"][0]["iou"].get<double>(), 6.0 / 9, 1e-12);
  EXPECT_NEAR(e["mean_iou"].get<double>(), (6.0 / 9 + 3.0 / 6) / 2, 1e-12);
  EXPECT_NEAR(e["accuracy"]["value"].get<double>(), 0.75, 1e-12);
  std::ostringstream text;
  PrintEvaluation(e, text);
  EXPECT_THAT(text.str(), HasSubstr("mean IoU  0.5833"));
}

TEST(Evaluation, SaysThatThereAreSeveralHeads) {
  Predictions p = FiveRows();
  p.head.heads = 3;
  p.head.layer = "loss1";
  EXPECT_THAT(Evaluate(p, 1)["notes"][0].get<std::string>(),
              HasSubstr("3 heads; this is the first one, layer 'loss1' with the scores 'ip'"));
}

// Every 7th sample is predicted as the next class.
Predictions ManyClasses(int64_t classes, int64_t samples) {
  Predictions p;
  p.classes = p.width = classes;
  for (int64_t i = 0; i < samples; ++i) {
    const auto label = static_cast<int>(i % classes);
    const bool wrong = i % 7 == 0;
    const auto predicted = static_cast<int>((label + (wrong ? 1 : 0)) % classes);
    if (wrong) p.wrong.push_back({p.rows.size(), i, "image " + std::to_string(i) + ".jpg"});
    p.rows.push_back(Row(i, label, predicted, 0.5f, wrong ? 2 : 1));
  }
  p.wrong_rows = static_cast<int64_t>(p.wrong.size());
  return p;
}

TEST(EvaluationText, IsShortForManyClasses) {
  std::ostringstream text;
  PrintEvaluation(Evaluate(ManyClasses(1000, 5000), 1), text);
  const std::string printed = text.str();
  EXPECT_LE(std::count(printed.begin(), printed.end(), '\n'), 40);
  EXPECT_THAT(printed, HasSubstr("classes of the lowest F1"));
  EXPECT_THAT(printed, HasSubstr("most frequent confusions"));
  EXPECT_THAT(printed, HasSubstr("image 0.jpg"));
}

TEST(EvaluationText, HasTheWholeMatrixOfFewClasses) {
  std::ostringstream text;
  PrintEvaluation(Evaluate(FiveRows(), 1), text);
  EXPECT_THAT(text.str(), HasSubstr("label \\ predicted  0  1  2"));
  EXPECT_THAT(text.str(), HasSubstr("0 고양이 cat       2  1  ·"));
  EXPECT_THAT(text.str(), HasSubstr("accuracy           0.6000  0.2307–0.8824"));
}

TEST(EvaluationText, ComparesWithTheBaseline) {
  json e = Evaluate(FiveRows(), 1);
  e["baseline"] = ToJson(CompareCounts(30, 10, 1000), "old.caffemodel");
  std::ostringstream text;
  PrintEvaluation(e, text);
  EXPECT_THAT(text.str(), HasSubstr("compared with old.caffemodel: accuracy +0.0200"));
  EXPECT_THAT(text.str(), HasSubstr("McNemar's test (chi-square): p = 0.00266"));
}

TEST(EvaluationPage, IsSmallForManyImages) {
  Predictions p = ManyClasses(1000, 100000);
  Thumbnail thumbnail;
  thumbnail.channels = 3;
  thumbnail.height = thumbnail.width = Thumbnail::kSide;
  for (size_t i = 0; i < sizeof(thumbnail.bytes); ++i)
    thumbnail.bytes[i] = static_cast<uint8_t>(i * i * 2654435761u >> 16);
  for (size_t i = 0; i < kMostThumbnails; ++i) {
    thumbnail.position = p.rows[p.wrong[i].row].position;
    p.thumbnails.push_back(thumbnail);
  }
  json e = Evaluate(p, 1);
  AddThumbnails(p, &e);
  EXPECT_TRUE(e["wrong"][0].contains("image"));
  const std::string page = EvaluationPage(e, "many <classes>");
  EXPECT_LT(page.size(), 5'000'000u);
  EXPECT_THAT(page, HasSubstr("many &lt;classes&gt;"));
}

}  // namespace
}  // namespace doppio
