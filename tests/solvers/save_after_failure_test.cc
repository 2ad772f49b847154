// Tests that a training run that ends with an error first saves its last complete iteration.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/solvers/trainer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// Twelve gray images of 2x2 pixels in a new folder, listed with their labels.
class Images {
 public:
  Images() {
    std::string folder = testing::TempDir() + "/imagesXXXXXX";
    EXPECT_NE(mkdtemp(&folder[0]), nullptr);
    folder_ = folder + "/";
    std::string list;
    for (int i = 0; i < 12; ++i) {
      Repair(i);
      list += Path(i) + " " + std::to_string(i % 2) + "\n";
    }
    WriteFileAtomically(folder_ + "list.txt", list);
  }
  void Damage(int i) const { WriteFileAtomically(Path(i), "P5\n2 2\n255\n"); }
  void Repair(int i) const {
    WriteFileAtomically(Path(i),
                        "P5\n2 2\n255\n" + std::string{'a', static_cast<char>(i), 'b', 'c'});
  }
  std::string Path(int i) const { return folder_ + std::to_string(i) + ".pgm"; }
  std::string Net() const {
    return R"(name: "images"
      layer { name: "data" type: "ImageData" top: "x" top: "label" transform_param { scale: 0.01 }
              image_data_param { is_color: false batch_size: 2 source: ")" +
           folder_ + R"(list.txt" } }
      layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
              inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })";
  }

 private:
  std::string folder_;
};

constexpr const char* kShortTraining = "base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 max_iter: 6";

std::string FailureOf(Trainer* trainer) {
  return Mistake([&] { trainer->Solve(); });
}

TEST(SaveAfterFailure, SavesTheLastWholeIterationWhenARecordIsBad) {
  const Images images;
  for (const std::string more : {"", "iter_size: 2"}) {
    TrainerCase c(images.Net(), kShortTraining);
    const std::string model = ReadFile(c.Make({}, more)->Solve().model_file);
    images.Damage(9);  // an image of the fifth batch
    TrainerCase broken(images.Net(), kShortTraining);
    const int64_t whole = more.empty() ? 4 : 2;
    EXPECT_NE(FailureOf(broken.Make({}, more).get()).find(images.Path(9)), std::string::npos);
    ASSERT_TRUE(FileExists(broken.State(whole)));
    images.Repair(9);
    TrainerOptions options;
    options.resume = broken.State(whole);
    EXPECT_EQ(ReadFile(broken.Make(options, more)->Solve().model_file), model);
  }
}

TEST(SaveAfterFailure, TriesASnapshotOnceMoreThatHasFailed) {
  TrainerCase c(SquareNet(), "base_lr: 0.1 lr_policy: 'fixed' max_iter: 9 snapshot: 3");
  ASSERT_EQ(mkdir(c.State(3).c_str(), 0777), 0);
  EXPECT_NE(FailureOf(c.Make().get()).find("cannot write '" + c.State(3)), std::string::npos);
  // The trainer may notice the failure in any of these iterations.
  const bool saved = FileExists(c.State(4)) || FileExists(c.State(5)) || FileExists(c.State(6));
  EXPECT_TRUE(saved);
  EXPECT_FALSE(FileExists(c.Model(3)));
}

TEST(SaveAfterFailure, SaysThatItCannotSaveEither) {
  TrainerCase c(SquareNet(), "base_lr: 0.1 lr_policy: 'fixed' max_iter: 3");
  ASSERT_EQ(mkdir(c.State(3).c_str(), 0777), 0);
  const LogLines log;
  EXPECT_NE(FailureOf(c.Make().get()).find("cannot write '" + c.State(3)), std::string::npos);
  EXPECT_EQ(log.Count("The last complete iteration, 3, cannot be saved: cannot write"), 1);
}

TEST(SaveAfterFailure, WritesNothingBeforeTheFirstIterationOrUnasked) {
  const Images images;
  images.Damage(3);
  TrainerCase c(images.Net(), std::string(kShortTraining) + " snapshot_after_train: false");
  EXPECT_NE(FailureOf(c.Make().get()), "");
  EXPECT_FALSE(FileExists(c.State(1)));
  images.Damage(1);
  TrainerCase first(images.Net(), kShortTraining);
  EXPECT_NE(FailureOf(first.Make().get()), "");
  EXPECT_FALSE(FileExists(first.State(0)));
}

TEST(BadRecords, AreLeftOutCountedAndNamed) {
  const Images images;
  images.Damage(0);
  images.Damage(9);
  TrainerCase c(images.Net(), "base_lr: 0.1 lr_policy: 'fixed' max_iter: 20");
  TrainerOptions options;
  options.net.bad_records = 2;
  const LogLines log;
  const TrainResult result = c.Make(options)->Solve();
  EXPECT_EQ(result.iteration, 20);
  EXPECT_EQ(result.bad_records, 2);
  EXPECT_GE(log.Count("is skipped: image '" + images.Path(9)), 1);
  options.net.bad_records = 1;
  EXPECT_NE(FailureOf(c.Make(options).get()).find("one bad record more than may be skipped (1)"),
            std::string::npos);
}

}  // namespace
}  // namespace doppio
