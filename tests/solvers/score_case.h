// Scores small nets on eight samples, in batches of any size, for tests of the scores of a whole
// test. The samples are sorted by class, so most batches lack a class.
#ifndef DOPPIO_TESTS_SOLVERS_SCORE_CASE_H_
#define DOPPIO_TESTS_SOLVERS_SCORE_CASE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/net/spec/prototxt.h"
#include "core/net/store/hdf5_blobs.h"
#include "proto/data.pb.h"
#include "solvers/trainer/schedule.h"
#include "solvers/scores/test_pass.h"

namespace doppio {

constexpr int64_t kScoreSamples = 8;

// A net that reads `tops`, the names of data sets, and scores them by `layers`.
struct ScoredNet {
  std::string what;
  std::vector<std::string> tops;
  std::string layers;
  // The scores are sums over a batch, so they grow with its size.
  bool sums = false;
};

class ScoreCase {
 public:
  ScoreCase() {
    folder_ = testing::TempDir() + "/scoresXXXXXX";
    EXPECT_NE(mkdtemp(&folder_[0]), nullptr);
    WriteFileAtomically(folder_ + "/list.txt", folder_ + "/data.h5\n");
    const std::vector<float> label = {0, 0, 0, 0, 1, 1, 1, 2}, found = {0, 0, 0, 1, 1, 1, 0, 2};
    std::vector<float> scores, others, shares, targets, maps, classes;
    for (size_t n = 0; n < label.size(); ++n) {
      const float step = static_cast<float>(n) / 10;
      for (size_t c = 0; c < 3; ++c) {
        const bool is_found = static_cast<float>(c) == found[n];
        scores.push_back((is_found ? 1 + step : step / 2) + static_cast<float>(c) / 7);
        others.push_back(step - static_cast<float>(c) / 5);
        shares.push_back(is_found ? 0.6f - step / 2 : 0.2f + step / 4);
        targets.push_back((n + c) % 3 == 0 ? 7 : static_cast<float>(c == n % 2));
        for (size_t x = 0; x < 2; ++x) maps.push_back(is_found == (x == 0) ? 1 + step : step);
      }
      for (size_t x = 0; x < 2; ++x) classes.push_back(n % 3 == x ? 9 : label[n]);
    }
    Hdf5BlobWriter file(folder_ + "/data.h5");
    file.Blob("label", {8}, label.data());
    // All labels of some batches are ignored.
    file.Blob("partial", {8}, std::vector<float>{0, 9, 9, 9, 9, 1, 1, 9}.data());
    file.Blob("similar", {8}, std::vector<float>{1, 0, 0, 0, 1, 1, 0, 1}.data());
    file.Blob("scores", {8, 3}, scores.data());
    file.Blob("others", {8, 3}, others.data());
    file.Blob("shares", {8, 3}, shares.data());
    file.Blob("targets", {8, 3}, targets.data());
    file.Blob("maps", {8, 3, 1, 2}, maps.data());
    file.Blob("classes", {8, 1, 1, 2}, classes.data());
    file.Close();
    BlobProto matrix;
    for (float weight : {1.f, 0.2f, 0.f, 0.3f, 1.f, 0.1f, 0.f, 0.5f, 2.f}) matrix.add_data(weight);
    WriteFileAtomically(folder_ + "/matrix.bin", matrix.SerializeAsString());
  }

  // Tests the net in batches of `batch` samples, by the ranks of `world` or, if it is null, by one.
  TestScores Score(const ScoredNet& scored, int64_t batch, Device* device,
                   const World* world = nullptr,
                   const std::vector<std::string>& class_names = {}) const {
    std::string text = "layer { name: 'data' type: 'HDF5Data' hdf5_data_param { source: '" +
                       folder_ + "/list.txt' batch_size: 8 }";
    for (const std::string& top : scored.tops) text += " top: '" + top + "'";
    text += " }\n" + scored.layers;
    for (size_t at = text.find("FOLDER"); at != std::string::npos; at = text.find("FOLDER"))
      text.replace(at, 6, folder_);
    NetParameter parsed;
    const FieldPlaces places = ParseText(text, "net.prototxt", &parsed);
    ParamStore store(device, DType::kFloat32, 1);
    const auto make = [&](int64_t rows) {
      NetState state;
      state.set_phase(TEST);
      NetOptions net;
      net.phase = TEST;
      net.batch = rows;
      PlanOptions plan;
      plan.device = device;
      Graph graph = MakeGraph(MakeNetSpec(parsed, places, state, net));
      ShowHead(graph, &plan);
      return std::make_unique<Net>(std::move(graph), plan, &store);
    };
    const std::unique_ptr<Net> net = make(batch);
    if (world != nullptr) {
      net->pass().rank = world->rank();
      net->pass().ranks = world->size();
    }
    const SourceSize source = FindSource(*net);
    EXPECT_EQ(source.samples, kScoreSamples);
    const std::unique_ptr<Net> last = source.last_rows() > 0 ? make(source.last_rows()) : nullptr;
    TestRun run;
    run.net = net.get();
    run.batches = source.batches();
    run.rows = batch;
    run.last = last.get();
    run.last_rows = source.last_rows();
    run.class_names = class_names;
    run.named_errors = 100;
    return RunTest(run, world, nullptr);
  }

 private:
  std::string folder_;
};

// Expects the scores of `whole`, a test in one batch of all samples, from a test in batches of
// `batch`.
inline void ExpectScoresOfWhole(const TestScores& scores, const TestScores& whole,
                                const ScoredNet& net, int64_t batch) {
  SCOPED_TRACE(net.what + ", batch " + std::to_string(batch));
  const double factor =
      net.sums ? static_cast<double>(batch) / static_cast<double>(kScoreSamples) : 1;
  EXPECT_NEAR(scores.loss, factor * whole.loss, 2e-6 * (1 + whole.loss));
  ASSERT_EQ(scores.scores.size(), whole.scores.size());
  ASSERT_GT(whole.scores.size(), 0u);
  for (size_t i = 0; i < whole.scores.size(); ++i) {
    const OutputValue &got = scores.scores[i], &want = whole.scores[i];
    EXPECT_EQ(got.absent, want.absent) << want.blob << ' ' << i;
    if (want.absent) continue;
    EXPECT_NEAR(got.value, factor * want.value, 2e-6 * (1 + want.value)) << want.blob << ' ' << i;
  }
}

// Expects the predictions of another test of the same samples.
inline void ExpectSamePredictions(const TestScores& scores, const TestScores& whole,
                                  const ScoredNet& net) {
  SCOPED_TRACE(net.what);
  ASSERT_EQ(scores.predictions == nullptr, whole.predictions == nullptr);
  if (whole.predictions == nullptr) return;
  const Predictions &got = *scores.predictions, &want = *whole.predictions;
  EXPECT_EQ(got.ignored, want.ignored);
  EXPECT_EQ(got.pixels, want.pixels);
  ASSERT_EQ(got.rows.size(), want.rows.size());
  for (size_t i = 0; i < want.rows.size(); ++i) {
    EXPECT_EQ(got.rows[i].label, want.rows[i].label);
    EXPECT_EQ(got.rows[i].predicted, want.rows[i].predicted);
    EXPECT_EQ(got.rows[i].place, want.rows[i].place);
    EXPECT_NEAR(got.rows[i].confidence, want.rows[i].confidence, 1e-6);
  }
  ASSERT_EQ(got.values.size(), want.values.size());
  for (size_t i = 0; i < want.values.size(); ++i)
    EXPECT_NEAR(got.values[i], want.values[i], 1e-6) << i;
  ASSERT_EQ(got.wrong.size(), want.wrong.size());
  for (size_t i = 0; i < want.wrong.size(); ++i) {
    EXPECT_EQ(got.wrong[i].row, want.wrong[i].row);
    EXPECT_EQ(got.wrong[i].name, want.wrong[i].name);
  }
}

// Returns a net with one layer, which reads the data sets and has the top `name`.
inline ScoredNet OneScore(const std::string& type, const std::vector<std::string>& bottoms,
                          const std::string& param = "", const std::string& more_tops = "",
                          const std::string& name = "score") {
  ScoredNet net{type + " " + param + more_tops, bottoms, ""};
  net.layers =
      "layer { name: '" + name + "' type: '" + type + "' top: '" + name + "' " + more_tops + param;
  for (const std::string& bottom : bottoms) net.layers += " bottom: '" + bottom + "'";
  net.layers += " }\n";
  net.sums = param.find("NONE") != std::string::npos ||
             param.find("PRE_FIXED") != std::string::npos || param.find("SUM") != std::string::npos;
  return net;
}

// Returns nets with every layer that scores, in every way in which it divides.
inline std::vector<ScoredNet> AllScoredNets() {
  std::vector<ScoredNet> nets;
  const auto add = [&](const auto&... args) { nets.push_back(OneScore(args...)); };
  const std::string ignore = "ignore_label: 9 ", ignores = "accuracy_param { " + ignore + "} ",
                    classes = "top: 'class' ";
  using Tops = std::vector<std::string>;
  add("Accuracy", Tops{"scores", "label"}, "", classes);
  add("Accuracy", Tops{"scores", "label"}, "accuracy_param { top_k: 2 } ", classes);
  add("Accuracy", Tops{"scores", "partial"}, ignores, classes);
  add("Accuracy", Tops{"maps", "classes"}, ignores, classes);
  for (const char* more : {"", "reset: false "}) {
    add("SegAccuracy", Tops{"maps", "classes"}, "seg_accuracy_param { " + ignore + more + "} ");
    add("SegAccuracy", Tops{"scores", "partial"}, "seg_accuracy_param { " + ignore + more + "} ");
  }
  for (const char* mode : {"VALID", "FULL", "BATCH_SIZE", "NONE", "PRE_FIXED"}) {
    const std::string by = "normalization: " + std::string(mode) + " ";
    const std::string loss = "loss_param { " + by + ignore + "} ";
    for (const char* weights : {"", "loss_weight: 3 "}) {
      add("SoftmaxWithLoss", Tops{"scores", "partial"}, loss + weights);
      add("SoftmaxWithLoss", Tops{"maps", "classes"}, loss + weights);
    }
    for (const char* labels :
         {"label_smoothing: 0.1 ", "weight_by_label_freqs: true class_weighting: [1, 0.5, 3] "}) {
      add("SoftmaxWithLoss", Tops{"scores", "partial"},
          "loss_param { " + by + ignore + labels + "} ");
    }
    add("SoftmaxWithLoss", Tops{"scores", "shares"}, "loss_param { " + by + "} ");
    add("InfogainLoss", Tops{"scores", "partial"},
        loss + "infogain_loss_param { source: 'FOLDER/matrix.bin' } ");
    add("SigmoidCrossEntropyLoss", Tops{"scores", "targets"},
        "loss_param { " + by + "ignore_label: 7 } ");
    add("SmoothL1LossOHEM", Tops{"scores", "others"}, "loss_param { " + by + "} ");
  }
  add("SmoothL1Loss", Tops{"scores", "others"});
  add("EuclideanLoss", Tops{"scores", "others"});
  add("L1Loss", Tops{"scores", "others"});
  add("HingeLoss", Tops{"scores", "label"}, "hinge_loss_param { norm: L2 } ");
  add("MultinomialLogisticLoss", Tops{"shares", "label"});
  add("ContrastiveLoss", Tops{"scores", "others", "similar"});
  for (const char* operation : {"SUM", "ASUM", "SUMSQ", "MEAN"}) {
    add("Reduction", Tops{"scores"},
        "reduction_param { operation: " + std::string(operation) + " } loss_weight: 1 ");
  }
  // Losses that other layers read, of rows that a Filter keeps, and without a layer that reduces.
  const ScoredNet loss =
      OneScore("SoftmaxWithLoss", {"scores", "partial"}, "loss_param { ignore_label: 9 } ");
  nets.push_back({"views", loss.tops,
                  loss.layers +
                      "layer { name: 'split' type: 'Split' bottom: 'score' top: 'a' top: 'b' "
                      "loss_weight: 2 loss_weight: 0 }\n"});
  nets.push_back({"inside", loss.tops,
                  loss.layers + OneScore("Accuracy", loss.tops, ignores, "", "accuracy").layers +
                      "layer { name: 'quiet' type: 'Silence' bottom: 'score' }\n"});
  for (const char* by : {"VALID", "BATCH_SIZE"}) {
    nets.push_back({std::string("filter ") + by,
                    {"scores", "label", "similar"},
                    "layer { name: 'keep' type: 'Filter' bottom: 'scores' bottom: 'label' bottom: "
                    "'similar' top: 'kept' top: 'kept_label' }\n" +
                        OneScore("SoftmaxWithLoss", {"kept", "kept_label"},
                                 "loss_param { normalization: " + std::string(by) + " } ")
                            .layers});
  }
  return nets;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_SOLVERS_SCORE_CASE_H_
