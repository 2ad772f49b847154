#include "solvers/scores/average_precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using Found = std::vector<bool>;
using Values = std::vector<double>;

TEST(AveragePrecision, FollowsItsRule) {
  // The precisions are 1, 1/2, 2/3, 1/2, 3/5 at the recalls 1/4, 1/4, 1/2, 1/2, 3/4.
  const Found found = {true, false, true, false, true};
  EXPECT_NEAR(AveragePrecision(PrecisionRule::kIntegral, found, 4), (1 + 2.0 / 3 + 0.6) / 4, 1e-12);
  EXPECT_NEAR(AveragePrecision(PrecisionRule::kElevenPoint, found, 4),
              (3 + 3 * 2.0 / 3 + 2 * 0.6) / 11, 1e-12);
  // The precisions are 0, 1/2, 2/3 at the recalls 0, 1/2, 1. The last precision is the largest at
  // every recall.
  EXPECT_NEAR(AveragePrecision(PrecisionRule::kMaxIntegral, {false, true, true}, 2), 2.0 / 3,
              1e-12);
  EXPECT_NEAR(AveragePrecision(PrecisionRule::kIntegral, {false, true, true}, 2),
              (0.5 + 2.0 / 3) / 2, 1e-12);
}

TEST(AveragePrecision, IsNothingOfNothing) {
  for (PrecisionRule rule :
       {PrecisionRule::kIntegral, PrecisionRule::kElevenPoint, PrecisionRule::kMaxIntegral}) {
    EXPECT_EQ(AveragePrecision(rule, {}, 4), 0);
    EXPECT_EQ(AveragePrecision(rule, {false}, 0), 0);
    EXPECT_NEAR(AveragePrecision(rule, {true, true}, 2), 1, 1e-12);
  }
}

std::vector<OutputValue> Rows(const Values& values) {
  std::vector<OutputValue> outputs;
  for (double value : values) outputs.push_back({"eval", 0, value});
  return outputs;
}

const Values kFirst = {
    -1, 1, 2,   -1, -1, -1, 2,  1,   -1, -1,  // numbers of objects: two of class 1, one of class 2
    0,  1, 0.9, 1,  0,  0,  1,  0.5, 0,  1,   // detections of class 1: one right, one wrong
    0,  2, 0.3, 0,  0,  -1, -1, 0,   0,  0};  // a detection that does not count, and an empty row
const Values kSecond = {-1, 1, 1, -1, -1, -1, 2, 0, -1, -1, 3, 1, 0.7, 1, 0};

TEST(DetectionScores, AreOfAllBatchesTogether) {
  DetectionScores scores({DetectionBlob{"eval"}});
  scores.Add(0, Rows(kFirst));
  scores.Add(1, Rows(kSecond));
  const auto blobs = scores.Compute(PrecisionRule::kIntegral);
  ASSERT_EQ(blobs.size(), 1u);
  EXPECT_EQ(blobs[0].blob, "eval");
  // Class 1 has three objects and the detections right, right, wrong. Class 2 has one object and no
  // detection.
  EXPECT_NEAR(blobs[0].classes.at(1), 2.0 / 3, 1e-12);
  EXPECT_EQ(blobs[0].classes.at(2), 0);
  EXPECT_NEAR(blobs[0].mean, 1.0 / 3, 1e-12);
}

TEST(DetectionScores, CountsTheClassesWithoutObjects) {
  DetectionScores scores({DetectionBlob{"eval"}});
  scores.Add(0, Rows(kFirst));
  scores.Add(1, Rows({-1, 3, 0, -1, -1, 0, 4, 0.8, 0, 1, -1, 4, 0, -1, -1}));
  const auto blobs = scores.Compute(PrecisionRule::kIntegral);
  ASSERT_EQ(blobs.size(), 1u);
  EXPECT_EQ(blobs[0].classes.size(), 4u);
  EXPECT_EQ(blobs[0].without_objects, 2);
  EXPECT_NEAR(blobs[0].mean, 0.5 / 4, 1e-12);
  testing::internal::CaptureStderr();
  scores.Log(PrecisionRule::kIntegral, false);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("eval: 2 of 4 classes have no objects in this test"));
}

// The same objects and detections as above, in rows of EvalDetection: its classes begin at 0.
TEST(DetectionScores, AreOfRegions) {
  DetectionScores scores({DetectionBlob{"eval", 2 + 3 * 4, 2}});
  // Two images, the second one without an object.
  scores.Add(0, Rows({2, 1, 0, 0.9, 1, 0, 0, 0.5, 0, 1, 0, 0, 0, 0,  //
                      0, 0, 0, 0,   0, 0, 0, 0,   0, 0, 0, 0, 0, 0}));
  scores.Add(1, Rows({1, 0, 0, 0.7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  const auto blobs = scores.Compute(PrecisionRule::kIntegral);
  ASSERT_EQ(blobs.size(), 1u);
  EXPECT_NEAR(blobs[0].classes.at(0), 2.0 / 3, 1e-12);
  EXPECT_EQ(blobs[0].classes.at(1), 0);
  EXPECT_NEAR(blobs[0].mean, 1.0 / 3, 1e-12);
}

// Simulates rank 0 of two ranks that hold the same rows.
class Twin : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void AllReduce(void* data, int64_t count, DType) override {
    double* values = static_cast<double*>(data);
    for (int64_t i = 0; i < count / 2; ++i) values[count / 2 + i] += values[i];
  }
  // Rank 1 sends what rank 0 has sent.
  void Broadcast(void* data, int64_t bytes, int root) override {
    auto* const values = static_cast<char*>(data);
    if (root == 0) sent_.assign(values, values + bytes);
    std::copy(sent_.begin(), sent_.end(), values);
  }
  void Barrier() override {}
  void Abort(const std::string&) override {}

 private:
  std::vector<char> sent_;
};

TEST(DetectionScores, AreGatheredFromAllRanks) {
  DetectionScores scores({DetectionBlob{"eval"}}), twice({DetectionBlob{"eval"}});
  scores.Add(0, Rows(kFirst));
  twice.Add(0, Rows(kFirst));
  twice.Add(0, Rows(kFirst));
  Twin twin;
  scores.Gather(&twin);
  EXPECT_NEAR(scores.Compute(PrecisionRule::kIntegral)[0].mean,
              twice.Compute(PrecisionRule::kIntegral)[0].mean, 1e-12);
  EXPECT_NEAR(scores.Compute(PrecisionRule::kIntegral)[0].classes.at(1), 0.5, 1e-12);
}

TEST(PrecisionRule, IsReadFromTheSolver) {
  SolverParameter solver;
  const auto read = [&](const std::string& text) {
    const FieldPlaces places = ParseText(text, "solver.prototxt", &solver);
    return ReadPrecisionRule(solver, places);
  };
  EXPECT_FALSE(read("base_lr: 1").has_value());
  EXPECT_EQ(read("eval_type: 'detection'"), PrecisionRule::kIntegral);
  EXPECT_EQ(read("eval_type: 'detection' ap_version: '11point'"), PrecisionRule::kElevenPoint);
  const auto mistake = [&](const std::string& text) {
    return Mistake<UserError>([&] { read(text); });
  };
  EXPECT_NE(mistake("eval_type: 'segmentation'")
                .find("solver.prototxt:1:1: unknown eval_type 'segmentation'"),
            std::string::npos);
  EXPECT_NE(
      mistake("eval_type: 'detection' ap_version: 'x'").find("unknown ap_version 'x'; 11point"),
      std::string::npos);
}

}  // namespace
}  // namespace doppio
