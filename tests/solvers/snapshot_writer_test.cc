#include "solvers/trainer/snapshot_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tests/solvers/trainer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

std::string SmallNet() {
  return R"(name: "small"
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } shape { dim: 2 dim: 4 }
                               data_filler { type: "gaussian" std: 1 } } }
    layer { name: "conv" type: "Convolution" bottom: "x" top: "c"
            convolution_param { num_output: 20 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "ip" type: "InnerProduct" bottom: "c" top: "out"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "out" bottom: "y" top: "loss" })";
}

constexpr const char* kAdam =
    "type: 'Adam' base_lr: 0.01 lr_policy: 'fixed' max_iter: 3 snapshot_after_train: false";

SnapshotContents ContentsOf(Trainer* trainer, const SnapshotNames& names, bool gradients) {
  SnapshotContents contents;
  contents.names = names;
  contents.graph = &trainer->train_net().graph();
  contents.weights =
      WeightsOf(trainer->train_net().plan().param_index, trainer->params(), gradients);
  contents.history = trainer->update().history().Gather(nullptr).blobs;
  contents.solver.iter = trainer->iteration();
  contents.solver.run_state.set_seed(7);
  return contents;
}

TEST(SnapshotWriter, WritesTheNumbersOfTheMomentItWasAsked) {
  for (const bool hdf5 : {false, true}) {
    for (const bool gradients : {false, true}) {
      TrainerCase c(SmallNet(), kAdam);
      const auto trainer = c.Make({}, gradients ? "snapshot_diff: true" : "");
      trainer->Solve();
      const SnapshotNames names = NamesOfSnapshot(c.Prefix(), 3, hdf5);
      const SnapshotContents contents = ContentsOf(trainer.get(), names, gradients);
      WriteSnapshot(contents);
      const std::string model = ReadFile(names.model), state = ReadFile(names.state);
      unlink(names.model.c_str());
      unlink(names.state.c_str());

      SnapshotWriter writer;
      writer.Write(contents);
      const Tensor values = trainer->params().arenas().values();
      std::memset(values.raw, 1, static_cast<size_t>(values.bytes()));
      for (const Tensor& history : trainer->update().history().Gather(nullptr).blobs) {
        std::memset(history.raw, 1, static_cast<size_t>(history.bytes()));
      }
      writer.Wait();
      EXPECT_TRUE(ReadFile(names.model) == model);
      EXPECT_TRUE(ReadFile(names.state) == state);
    }
  }
}

// Like Caffe's snapshot_diff, stores the amount subtracted instead of the gradient, which is w.
TEST(SnapshotWriter, WritesWhatTheLastUpdateSubtracted) {
  TrainerCase c(SquareNet(), "momentum: 0.5 base_lr: 0.1 lr_policy: 'fixed' max_iter: 2");
  c.Make({}, "snapshot_diff: true")->Solve();
  NetParameter net;
  ASSERT_TRUE(net.ParseFromString(ReadFile(c.Model(2))));
  const BlobProto& w = net.layer(1).blobs(0);
  ASSERT_EQ(w.diff_size(), 1);
  EXPECT_NEAR(w.data(0), 1 - 0.1 - 0.14, 1e-6);
  EXPECT_NEAR(w.diff(0), 0.5 * 0.1 + 0.1 * 0.9, 1e-6);
}

TEST(SnapshotWriter, ReportsAFailureOnce) {
  TrainerCase c(SmallNet(), kAdam);
  const auto trainer = c.Make();
  SnapshotWriter writer;
  writer.Write(ContentsOf(trainer.get(), NamesOfSnapshot("/no/such/folder/s", 0, false), false));
  const std::string text = Mistake<FileError>([&] { writer.Wait(); });
  EXPECT_NE(text.find("/no/such/folder"), std::string::npos) << text;
  writer.Wait();
  writer.Check();
}

TEST(SnapshotWriter, WritesAtOnceWhenThereIsNoMemoryForACopy) {
  TrainerCase c(SmallNet(), kAdam);
  const auto trainer = c.Make();
  SnapshotContents contents =
      ContentsOf(trainer.get(), NamesOfSnapshot(c.Prefix(), 0, false), false);
  // The tensor is larger than the address space and than any file.
  contents.history[0] =
      Tensor({Shape{int64_t{1} << 45}, DType::kFloat32, Layout()}, contents.history[0].raw);
  SnapshotWriter writer;
  EXPECT_THROW(writer.Write(contents), FileError);  // Write itself throws, before any Wait
  EXPECT_FALSE(FileExists(c.Model(0)));
  EXPECT_FALSE(FileExists(c.State(0)));
  writer.Wait();
}

TEST(SnapshotWriter, WaitsForTheOneBefore) {
  TrainerCase c(SmallNet(), kAdam);
  const auto trainer = c.Make();
  SnapshotWriter writer;
  writer.Write(ContentsOf(trainer.get(), NamesOfSnapshot(c.Prefix(), 1, false), false));
  writer.Write(ContentsOf(trainer.get(), NamesOfSnapshot(c.Prefix(), 2, false), false));
  EXPECT_TRUE(FileExists(c.State(1)));
  writer.Write(ContentsOf(trainer.get(), NamesOfSnapshot("/no/such/folder/s", 0, false), false));
  EXPECT_THROW(
      writer.Write(ContentsOf(trainer.get(), NamesOfSnapshot(c.Prefix(), 3, false), false)),
      FileError);
}

// The snapshot folder disappears after the first iteration.
TEST(SnapshotWriter, EndsTheTrainingWhenItFails) {
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' max_iter: 100000 snapshot: 2");
  const std::string folder = DirName(c.Prefix()), moved = folder.substr(0, folder.size() - 1) + "-";
  TrainerOptions options;
  int64_t reached = 0;
  options.on_iteration = [&](const Progress& progress) {
    reached = progress.iteration;
    if (reached > 1) return;
    EXPECT_EQ(rename(folder.c_str(), moved.c_str()), 0);
  };
  const auto trainer = c.Make(options);
  EXPECT_THROW(trainer->Solve(), FileError);
  EXPECT_LE(reached, 4) << "the second snapshot waits for the first";
}

}  // namespace
}  // namespace doppio
