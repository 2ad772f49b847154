#include "core/net/store/snapshot.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <map>

#include "core/base/atomic_file.h"
#include "core/base/file.h"
#include "core/net/store/hdf5_blobs.h"
#include "core/net/store/weights.h"
#include "tests/core/net/tiny_net.h"
#include "tests/core/net/weight_files.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// Returns a new empty folder, with a trailing '/'.
std::string Folder() {
  std::string path = testing::TempDir() + "/snapshot_XXXXXX";
  EXPECT_NE(mkdtemp(&path[0]), nullptr);
  return path + "/";
}

TinyNet OneLayer() {
  TinyNet tiny;
  tiny.Layer("ip", "InnerProduct", {{3, 4}, {3}});
  tiny.Allocate();
  tiny.Place();
  tiny.Number(0, 1);
  return tiny;
}

SolverSnapshot Example(int64_t iter) {
  SolverSnapshot snapshot;
  snapshot.iter = iter;
  snapshot.current_step = 2;
  snapshot.history = {{Shape{3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
                      {Shape{3}, {-1, 0.5, 1e-30f}},
                      {Shape(), {3}}};
  snapshot.run_state.set_seed(uint64_t{1} << 63);
  snapshot.run_state.add_recent_loss(0.25f);
  auto* data = snapshot.run_state.add_data();
  data->set_layer("data");
  data->set_next_sample(int64_t{1} << 40);
  return snapshot;
}

void WriteFiles(const SnapshotNames& names, const TinyNet& tiny, SolverSnapshot snapshot) {
  SnapshotContents contents;
  contents.names = names;
  contents.graph = &tiny.graph;
  contents.weights = WeightsOf(tiny.index, *tiny.store, false);
  for (PlainBlob& blob : snapshot.history) {
    contents.history.emplace_back(TensorSpec{blob.shape, DType::kFloat32, Layout()},
                                  blob.data.data());
  }
  contents.solver = snapshot;
  WriteSnapshot(contents);
}

std::string Write(const std::string& prefix, int64_t iter, bool hdf5 = false) {
  const TinyNet tiny = OneLayer();
  const SnapshotNames names = NamesOfSnapshot(prefix, iter, hdf5);
  WriteFiles(names, tiny, Example(iter));
  return names.state;
}

TEST(Snapshot, IsNamedAsInCaffe) {
  const SnapshotNames names = NamesOfSnapshot("out/lenet", 500, true);
  EXPECT_EQ(names.model, "out/lenet_iter_500.caffemodel.h5");
  EXPECT_EQ(names.state, "out/lenet_iter_500.solverstate.h5");
  EXPECT_EQ(NamesOfSnapshot("a", 0, false).state, "a_iter_0.solverstate");
}

TEST(Snapshot, GivenAsWeightsNamesTheWeights) {
  const std::string prefix = testing::TempDir() + "given";
  for (const bool hdf5 : {false, true}) {
    const std::string state = Write(prefix, 7, hdf5);
    const std::string model = NamesOfSnapshot(prefix, 7, hdf5).model;
    const std::string is_state = "'" + state + "' is not a .caffemodel" + (hdf5 ? ".h5" : "") +
                                 ": it is a solver state (.solverstate); ";
    EXPECT_EQ(Mistake<FileError>([&] { ReadWeights(state); }),
              is_state + "its weights are in '" + model +
                  "': pass that file, or pass the state with --snapshot or --resume");
    std::remove(model.c_str());
    EXPECT_EQ(Mistake<FileError>([&] { ReadWeights(state); }),
              is_state + "pass it with --snapshot or --resume");
  }
}

TEST(Snapshot, RoundTripsInBothForms) {
  for (const bool hdf5 : {false, true}) {
    const std::string prefix = Folder() + "run";
    const SolverSnapshot read = ReadSnapshot(Write(prefix, 123456, hdf5));
    const SolverSnapshot wanted = Example(123456);
    EXPECT_EQ(read.iter, 123456);
    EXPECT_EQ(read.current_step, 2);
    EXPECT_EQ(read.learned_net, NamesOfSnapshot(prefix, 123456, hdf5).model);
    ASSERT_EQ(read.history.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(read.history[i].shape, wanted.history[i].shape);
      EXPECT_EQ(read.history[i].data, wanted.history[i].data);
    }
    EXPECT_EQ(read.run_state.seed(), uint64_t{1} << 63);
    EXPECT_EQ(read.run_state.recent_loss(0), 0.25f);
    EXPECT_EQ(read.run_state.data(0).next_sample(), int64_t{1} << 40);
    EXPECT_EQ(read.run_state.iter(), 123456);
    EXPECT_EQ(read.minimum_loss, 1e38f);
    EXPECT_EQ(ReadWeights(read.learned_net).layers[0].blobs[0].data[11], 12);
  }
}

TEST(Snapshot, HoldsWhatLayersCarryHoweverMuchItIs) {
  const std::string prefix = Folder() + "s";
  const TinyNet tiny = OneLayer();
  for (bool hdf5 : {false, true}) {
    SolverSnapshot snapshot = Example(7);
    RunState::LayerState* layer = snapshot.run_state.add_layer();
    layer->set_layer("lstm");
    BlobProto* blob = layer->add_blobs();
    for (int i = 0; i < 300000; ++i) blob->add_data(static_cast<float>(i));
    const SnapshotNames names = NamesOfSnapshot(prefix, 7, hdf5);
    WriteFiles(names, tiny, snapshot);
    const SolverSnapshot read = ReadSnapshot(names.state);
    ASSERT_EQ(read.run_state.layer_size(), 1) << hdf5;
    EXPECT_EQ(read.run_state.layer(0).SerializeAsString(), layer->SerializeAsString()) << hdf5;
  }
}

TEST(Snapshot, BinaryStateIsAnOrdinarySolverState) {
  const std::string path = Write(Folder() + "run", 7);
  SolverState state;
  ASSERT_TRUE(state.ParseFromString(ReadFile(path)));
  EXPECT_EQ(state.iter(), 7);
  EXPECT_EQ(state.current_step(), 2);
  EXPECT_EQ(state.history_size(), 3);
  EXPECT_EQ(state.history(1).data(1), 0.5f);
  EXPECT_FALSE(state.has_minimum_loss());
}

TEST(Snapshot, Hdf5StateHasTheNamesThatCaffeReads) {
  const std::string path = Write(Folder() + "run", 7, true);
  Hdf5BlobReader in(path, "file");
  EXPECT_EQ(in.Int("/iter"), 7);
  EXPECT_EQ(in.Int("/current_step"), 2);
  ExpectContains(in.Text("/learned_net"), "run_iter_7.caffemodel.h5");
  EXPECT_EQ(in.Children("/history").size(), 3u);  // Caffe counts these entries
  EXPECT_EQ(in.Blob("/history/0").shape, (Shape{3, 4}));
}

TEST(Snapshot, MovesWithItsFolder) {
  const std::string from = Folder(), to = Folder();
  const std::string state = Write(from + "run", 5);
  WriteFileAtomically(to + "run_iter_5.solverstate", ReadFile(state));
  WriteFileAtomically(to + "run_iter_5.caffemodel", ReadFile(from + "run_iter_5.caffemodel"));
  unlink((from + "run_iter_5.caffemodel").c_str());
  EXPECT_EQ(ReadSnapshot(to + "run_iter_5.solverstate").learned_net, to + "run_iter_5.caffemodel");
  // A file of another run at the old path must be ignored too.
  WriteFileAtomically(from + "run_iter_5.caffemodel", "another run's");
  EXPECT_EQ(ReadSnapshot(to + "run_iter_5.solverstate").learned_net, to + "run_iter_5.caffemodel");
  unlink((to + "run_iter_5.caffemodel").c_str());
  unlink((from + "run_iter_5.caffemodel").c_str());
  const std::string text = Mistake<FileError>([&] { ReadSnapshot(to + "run_iter_5.solverstate"); });
  ExpectContains(text, "there is no '" + from + "run_iter_5.caffemodel' and no '" + to +
                           "run_iter_5.caffemodel'");
}

TEST(Snapshot, NoticesWeightsThatAreNotItsOwn) {
  const std::string folder = Folder();
  const std::string state = Write(folder + "run", 5);
  std::string model = ReadFile(folder + "run_iter_5.caffemodel");
  model[model.size() - 1] = static_cast<char>(model.back() ^ 1);  // keeps the size
  WriteFileAtomically(folder + "run_iter_5.caffemodel", model);
  ExpectContains(Mistake<FileError>([&] { ReadSnapshot(state); }), "is not the weights file");
}

TEST(Snapshot, NamesTheStateBesideWeightsThatAreGivenAsAState) {
  for (const bool hdf5 : {false, true}) {
    for (const bool described : {false, true}) {
      TinyNet tiny = OneLayer();
      tiny.graph.spec.name = "tiny";
      if (described) tiny.graph.preprocessing.emplace().set_scale(2);
      const SnapshotNames names = NamesOfSnapshot(Folder() + "s", 7, hdf5);
      WriteFiles(names, tiny, Example(7));
      const auto mistake = [&] { return Mistake<FileError>([&] { ReadSnapshot(names.model); }); };
      const std::string beside = mistake();
      EXPECT_NE(beside.find("has the weights of a net, not the state of a training; the state is "
                            "in '" +
                            names.state + "'"),
                std::string::npos)
          << beside;
      unlink(names.state.c_str());
      EXPECT_NE(mistake().find("pass weights with --weights; without the .solverstate"),
                std::string::npos)
          << mistake();
    }
  }
}

// The counts are steps of the rate and samples of the data. Wrong ones would be used as indices.
TEST(Snapshot, RefusesCountsThatNoTrainingHas) {
  const std::string path = Write(Folder() + "run", 7);
  SolverState good;
  ASSERT_TRUE(good.ParseFromString(ReadFile(path)));
  const auto message_of = [&](const std::function<void(SolverState*)>& change) {
    SolverState state = good;
    change(&state);
    state.clear_crc();  // like a file of an earlier version or a forged one
    if (state.has_run_state()) state.mutable_run_state()->clear_summed();
    WriteFileAtomically(path, state.SerializeAsString());
    return Mistake<FileError>([&] { ReadSnapshot(path); });
  };
  const std::string damaged = "'" + path + "' is damaged: its ";
  EXPECT_EQ(message_of([](SolverState* s) {
              s->set_iter(-5);
              s->clear_run_state();
            }),
            damaged + "iteration is -5");
  EXPECT_EQ(message_of([](SolverState* s) { s->set_current_step(-1); }),
            damaged + "current_step is -1");
  EXPECT_EQ(message_of([](SolverState* s) {
              s->mutable_run_state()->mutable_data(0)->set_next_sample(INT64_MAX);
            }),
            damaged + "next_sample of 'data' is 9223372036854775807");
}

TEST(Snapshot, RefusesMoreHistoryThanAFileOfItsSizeHas) {
  const std::string path = Write(Folder() + "run", 7);
  std::string bytes = ReadFile(path);
  for (int i = 0; i < 150'000; ++i) bytes += std::string("\x1a\0", 2);  // history {}
  WriteFileAtomically(path, bytes);
  EXPECT_NE(Mistake<FileError>([&] {
              ReadSnapshot(path);
            }).find("it has more than 100000 layers, blobs and other parts"),
            std::string::npos);
}

TEST(Snapshot, DamagedStatesAreFileErrors) {
  const std::string folder = Folder();
  for (const bool hdf5 : {false, true}) {
    const std::string path = Write(folder + "run", 5, hdf5);
    const std::string good = ReadFile(path);
    for (const size_t keep : {size_t{0}, size_t{1}, good.size() / 2, good.size() - 1}) {
      WriteFileAtomically(path, good.substr(0, keep));
      ExpectContains(Mistake<FileError>([&] { ReadSnapshot(path); }), "is not a .solverstate");
    }
  }
  ExpectContains(Mistake<FileError>([&] { ReadSnapshot(folder + "nosuch.solverstate"); }),
                 "cannot read");
  ExpectContains(Mistake<FileError>([&] { ReadSnapshot(folder + "run_iter_5.caffemodel"); }),
                 "has the weights of a net, not the state of a training");
}

// Checks every byte, so that no damaged byte goes unnoticed and just yields a strange value.
TEST(Snapshot, NoticesAnyChangedByteOfTheState) {
  const std::string path = Write(Folder() + "run", 5);
  const std::string good = ReadFile(path);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    WriteBytes(path, damaged);
    EXPECT_THROW(ReadSnapshot(path), FileError) << "byte " << i;
  }
}

TEST(Snapshot, NoticesChangedValuesOfAnHdf5State) {
  const std::string path = Write(Folder() + "run", 5, true);
  std::string content = ReadFile(path);
  const float value = 11;  // the last value of the first history blob
  const size_t at = content.find(std::string(reinterpret_cast<const char*>(&value), sizeof value));
  ASSERT_NE(at, std::string::npos);
  content[at] = static_cast<char>(content[at] ^ 1);
  WriteBytes(path, content);
  ExpectContains(Mistake<FileError>([&] { ReadSnapshot(path); }), "its checksum does not match");
}

TEST(Snapshot, StatesWithoutAChecksumLoad) {
  const std::string path = Write(Folder() + "run", 5);
  SolverState state;
  ASSERT_TRUE(state.ParseFromString(ReadFile(path)));
  state.clear_crc();
  WriteBytes(path, state.SerializeAsString());
  ExpectContains(Mistake<FileError>([&] { ReadSnapshot(path); }), "its end is missing");
  state.mutable_run_state()->clear_summed();
  WriteBytes(path, state.SerializeAsString());
  EXPECT_EQ(ReadSnapshot(path).iter, 5);
}

TEST(Snapshot, AFailureLeavesNeitherFile) {
  for (const bool hdf5 : {false, true}) {
    const std::string folder = Folder();
    const SnapshotNames names = NamesOfSnapshot(folder + "run", 5, hdf5);
    ASSERT_EQ(mkdir(names.state.c_str(), 0777),
              0);  // makes the rename fail, the last step of the write
    ExpectContains(Mistake<FileError>([&] { Write(folder + "run", 5, hdf5); }),
                   "cannot write '" + names.state);
    EXPECT_EQ(Glob(folder + "*"), std::vector<std::string>{names.state});
  }
}

TEST(Snapshot, AFailedWriteLeavesTheEarlierSnapshotOfItsIteration) {
  const std::string folder = Folder();
  const std::string state = Write(folder + "run", 5);
  const SnapshotNames names = NamesOfSnapshot(folder + "run", 5, false);
  // The temporary file of the state cannot be created.
  ASSERT_EQ(mkdir(TemporaryName(names.state).c_str(), 0777), 0);
  EXPECT_THROW(Write(folder + "run", 5), FileError);
  EXPECT_EQ(ReadSnapshot(state).iter, 5);
}

TEST(NewestCompleteSnapshot, TakesTheHighestIterationByNumber) {
  const std::string prefix = Folder() + "run";
  EXPECT_FALSE(NewestCompleteSnapshot(prefix).has_value());
  Write(prefix, 900);
  Write(prefix, 1000);
  Write(prefix, 20, true);
  Write(prefix + "_other", 5000);
  WriteFileAtomically(prefix + "_iter_7000.solverstate.tmp.123", "left by a dead process");
  EXPECT_EQ(NewestCompleteSnapshot(prefix), prefix + "_iter_1000.solverstate");
}

TEST(NewestCompleteSnapshot, TakesThoseOfOneRun) {
  const std::string prefix = Folder() + "run";
  const TinyNet tiny = OneLayer();
  for (const auto& [iter, run] : std::map<int64_t, uint64_t>{{10, 1}, {20, 2}, {30, 1}}) {
    SolverSnapshot snapshot = Example(iter);
    snapshot.run_state.set_run_id(run);
    WriteFiles(NamesOfSnapshot(prefix, iter, false), tiny, snapshot);
  }
  EXPECT_EQ(NewestCompleteSnapshot(prefix), prefix + "_iter_30.solverstate");
  EXPECT_EQ(NewestCompleteSnapshot(prefix, 2), prefix + "_iter_20.solverstate");
  EXPECT_FALSE(NewestCompleteSnapshot(prefix, 3).has_value());
}

TEST(NewestCompleteSnapshot, PassesOverPipesAndDevices) {
  const std::string prefix = Folder() + "run";
  Write(prefix, 10);
  ASSERT_EQ(mkfifo((prefix + "_iter_20.solverstate").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", (prefix + "_iter_30.solverstate").c_str()), 0);
  EXPECT_EQ(NewestCompleteSnapshot(prefix), prefix + "_iter_10.solverstate");
}

TEST(NewestCompleteSnapshot, PassesOverWhatADyingProcessLeaves) {
  const std::string prefix = Folder() + "run";
  Write(prefix, 10);
  Write(prefix, 20);
  // The process is killed after it has written the model of iteration 30.
  WriteFileAtomically(prefix + "_iter_30.caffemodel", ReadFile(prefix + "_iter_20.caffemodel"));
  EXPECT_EQ(NewestCompleteSnapshot(prefix), prefix + "_iter_20.solverstate");
  // A second run is killed between writing the model and the state of iteration 20.
  WriteFileAtomically(prefix + "_iter_20.caffemodel",
                      ReadFile(prefix + "_iter_10.caffemodel") + "x");
  EXPECT_EQ(NewestCompleteSnapshot(prefix), prefix + "_iter_10.solverstate");
  // A copy of the file was cut short.
  const std::string state = ReadFile(prefix + "_iter_10.solverstate");
  WriteFileAtomically(prefix + "_iter_40.solverstate", state.substr(0, state.size() / 2));
  EXPECT_EQ(NewestCompleteSnapshot(prefix), prefix + "_iter_10.solverstate");
  unlink((prefix + "_iter_10.caffemodel").c_str());
  EXPECT_FALSE(NewestCompleteSnapshot(prefix).has_value());
}

TEST(CheckWritable, NamesTheFolder) {
  const std::string folder = Folder();
  CheckWritable(folder + "run");
  CheckWritable("run");
  const std::string text = Mistake<FileError>([&] { CheckWritable(folder + "missing/run"); });
  ExpectContains(text, "there is no folder '" + folder + "missing/'");
  ExpectContains(text, "mkdir -p");
  WriteFileAtomically(folder + "file", "");
  ExpectContains(Mistake<FileError>([&] { CheckWritable(folder + "file/run"); }),
                 "there is no folder");
  // Root has write permission in /proc, but files cannot be created there.
  ExpectContains(Mistake<FileError>([&] { CheckWritable("/proc/run"); }),
                 "'/proc/' is not writable (");
  EXPECT_TRUE(Glob(folder + "*.tmp.*").empty()) << "the trial leaves nothing";
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  chmod(folder.c_str(), 0500);
  ExpectContains(Mistake<FileError>([&] { CheckWritable(folder + "run"); }), "is not writable");
}

TEST(SharedFiles, StatesOfOtherCaffesLoad) {
  if (SharedFile("").empty()) GTEST_SKIP() << "DOPPIO_SHARED is not set: no state files here";
  const std::string models = SharedFile("corpus/models/");
  const struct {
    std::string path, model;
    int64_t iter;
    size_t history;
  } cases[] = {
      {"cifar10_quick_h5/cifar10_quick_iter_5000.solverstate.h5",
       "cifar10_quick_iter_5000.caffemodel.h5", 5000, 10},
      {"cifar10_quick_v2_with_state/cifar10_quick_iter_4000.solverstate",
       "cifar10_quick_iter_4000.caffemodel", 4000, 10},
      {"lenet_v1_with_state/lenet_iter_10000.solverstate", "lenet_iter_10000.caffemodel", 10000, 8},
  };
  for (const auto& c : cases) {
    const SolverSnapshot snapshot = ReadSnapshot(models + c.path);
    EXPECT_EQ(snapshot.iter, c.iter);
    EXPECT_EQ(snapshot.history.size(), c.history);
    EXPECT_EQ(snapshot.learned_net, models + DirName(c.path) + c.model);
    EXPECT_FALSE(snapshot.run_state.has_iter());
    // The history matches the parameters, even in the old four-axis shapes.
    std::vector<int64_t> params, history;
    for (const LayerBlobs& layer : ReadWeights(snapshot.learned_net).layers) {
      for (const PlainBlob& blob : layer.blobs) params.push_back(blob.shape.count());
    }
    for (const PlainBlob& blob : snapshot.history) history.push_back(blob.shape.count());
    EXPECT_EQ(params, history);
  }
  EXPECT_EQ(NewestCompleteSnapshot(models + "lenet_v1_with_state/lenet"),
            models + "lenet_v1_with_state/lenet_iter_10000.solverstate");
}

}  // namespace
}  // namespace doppio
