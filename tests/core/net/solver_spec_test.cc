#include "core/net/spec/solver_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/file.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Writes files into a separate folder for each test.
class LoadSolverTest : public testing::Test {
 protected:
  LoadSolverTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "/" + test->name() + "/";
    std::filesystem::create_directories(folder_);
    Write("net.prototxt",
          "name: 'common'\nlayer { name: 'd' top: 'd' } layer { name: 'ip' bottom: 'd' }");
    Write("a.prototxt", "name: 'a'\nstate { stage: 'own' }");
    Write("b.prototxt", "name: 'b'");
  }
  void Write(const std::string& name, const std::string& text) {
    WriteFileAtomically(folder_ + name, text);
  }
  SolverSpec Load(const std::string& text, int level = 0,
                  const std::vector<std::string>& stages = {}) {
    Write("s.prototxt", text);
    return LoadSolver(folder_ + "s.prototxt", Overrides(), level, stages);
  }
  // Returns the error message without the folder.
  std::string LoadMistake(const std::string& text) {
    std::string what = Mistake([&] { Load(text); });
    for (size_t at; (at = what.find(folder_)) != std::string::npos;) what.erase(at, folder_.size());
    return what;
  }
  static std::vector<std::string> Names(const SolverSpec& spec) {
    std::vector<std::string> names;
    for (const TestNetSource& test : spec.tests) names.push_back(test.net.name());
    return names;
  }
  std::string folder_;
};

TEST_F(LoadSolverTest, ReadsTheNetBesideTheSolver) {
  const SolverSpec spec = Load("net: 'net.prototxt'");
  EXPECT_EQ(spec.train.net.name(), "common");
  EXPECT_EQ(spec.train.file, folder_ + "net.prototxt");
  EXPECT_EQ(spec.train.places.At("layer", 0).line, 2);
  EXPECT_EQ(spec.train.state.phase(), TRAIN);
  EXPECT_THAT(spec.tests, IsEmpty());
}

TEST_F(LoadSolverTest, PrefersTheWorkingDirectory) {
  const auto before = std::filesystem::current_path();
  std::filesystem::create_directories(folder_ + "sub");
  Write("sub/net.prototxt", "name: 'beside'");
  Write("sub/s.prototxt", "net: 'net.prototxt'");
  std::filesystem::current_path(folder_);
  const SolverSpec spec = LoadSolver("sub/s.prototxt");
  std::filesystem::current_path(before);
  EXPECT_EQ(spec.train.net.name(), "common");
}

TEST_F(LoadSolverTest, SaysWhereItLookedForANet) {
  EXPECT_EQ(LoadMistake("base_lr: 1\nnet: 'nosuch.prototxt'"),
            "s.prototxt:2:1: cannot find the net 'nosuch.prototxt', nor 'nosuch.prototxt'; paths "
            "count from the folder in which the command runs, or the solver's");
  EXPECT_EQ(LoadMistake("base_lr: 1\nnet: 'examples/net.prototxt'"),
            "s.prototxt:2:1: cannot find the net 'examples/net.prototxt', nor "
            "'examples/net.prototxt'; did you mean 'net.prototxt'?");
  EXPECT_THROW(LoadSolver(folder_ + "none.prototxt"), FileError);
}

TEST_F(LoadSolverTest, ReadsANetWrittenInTheSolver) {
  const SolverSpec spec = Load(
      "net_param {\n name: 'in'\n layer { top: 'x' }\n}\ntest_iter: 1\n"
      "test_interval: 2");
  EXPECT_EQ(spec.train.net.name(), "in");
  EXPECT_EQ(spec.train.file, folder_ + "s.prototxt");
  EXPECT_EQ(spec.train.places.Nested(spec.train.net, "layer").At("top").line, 3);
  EXPECT_THAT(Names(spec), ElementsAre("in"));
  EXPECT_EQ(Load("train_net_param { name: 'in' }").train.net.name(), "in");
}

TEST_F(LoadSolverTest, WantsExactlyOneNetToTrain) {
  EXPECT_EQ(LoadMistake("base_lr: 1"),
            "s.prototxt: the solver names no net to train: set net or train_net");
  EXPECT_EQ(LoadMistake("net: 'net.prototxt'\ntrain_net: 'a.prototxt'"),
            "s.prototxt:2:1: the solver names several nets to train (net and train_net); keep one "
            "of them");
}

TEST_F(LoadSolverTest, TestsNamedNetsFirstAndTheCommonOneForTheRest) {
  const SolverSpec spec = Load(
      "net: 'net.prototxt' test_net: 'a.prototxt' test_net: 'b.prototxt'\n"
      "test_net_param { name: 'in' } test_iter: [4, 3, 2, 1, 0] test_interval: 5");
  EXPECT_THAT(Names(spec), ElementsAre("in", "a", "b", "common", "common"));
  EXPECT_EQ(spec.tests[0].iterations, 4);
  EXPECT_EQ(spec.tests[4].iterations, 0);
  EXPECT_EQ(spec.tests[3].state.phase(), TEST);
}

TEST_F(LoadSolverTest, TestsWholePassesWithoutTestIter) {
  const SolverSpec common = Load("net: 'net.prototxt' test_interval: 5");
  EXPECT_THAT(Names(common), ElementsAre("common"));
  EXPECT_EQ(common.tests[0].iterations, kWholePass);
  const SolverSpec named = Load("net: 'net.prototxt' test_net: 'a.prototxt' test_epoch: 1");
  EXPECT_THAT(Names(named), ElementsAre("a"));
  EXPECT_EQ(named.tests[0].iterations, kWholePass);
}

TEST_F(LoadSolverTest, DoesNotTestANetThatHasDataForTrainingOnly) {
  Write("train.prototxt", "layer { top: 'd' include { phase: TRAIN } } layer { bottom: 'd' }");
  EXPECT_THAT(Load("net: 'train.prototxt' test_interval: 5").tests, IsEmpty());
}

TEST_F(LoadSolverTest, MatchesTestItersWithTestNets) {
  EXPECT_EQ(LoadMistake("train_net: 'a.prototxt' test_interval: 1\ntest_net: 'b.prototxt'\n"
                        "test_iter: 1\ntest_iter: 2"),
            "s.prototxt:4:1: there are 2 test_iter for 1 test nets; give one for each, or none");
  EXPECT_THAT(LoadMistake("net: 'net.prototxt' test_interval: 1 test_net: ['a.prototxt', "
                          "'b.prototxt'] test_iter: 1"),
              HasSubstr("there are 1 test_iter for 2 test nets"));
  EXPECT_THAT(LoadMistake("net: 'net.prototxt' test_interval: 1 test_iter: 1 test_state {} "
                          "test_state {}"),
              HasSubstr("there are 2 test_state for 1 tests"));
  EXPECT_THAT(LoadMistake("net: 'net.prototxt' test_interval: 1 test_iter: -1"),
              HasSubstr("test_iter must be at least 0, got -1"));
}

TEST_F(LoadSolverTest, WantsToKnowWhenToTest) {
  EXPECT_EQ(
      LoadMistake("net: 'net.prototxt'\ntest_iter: 1"),
      "s.prototxt:2:1: there is a test net but no test schedule: set test_interval or test_epoch");
}

TEST_F(LoadSolverTest, MergesStatesOfNetSolverAndFlags) {
  const SolverSpec spec = Load(
      "train_net: 'a.prototxt' train_state { level: 4 stage: 's' }\n"
      "test_net: 'a.prototxt' test_net: 'b.prototxt' test_interval: 1\n"
      "test_state { stage: 'more' level: 2 } test_state { }",
      7, {"f", "g"});
  EXPECT_THAT(spec.train.state.stage(), ElementsAre("own", "s", "f", "g"));
  EXPECT_EQ(spec.train.state.level(), 7);
  EXPECT_THAT(spec.tests[0].state.stage(), ElementsAre("own", "more"));
  EXPECT_EQ(spec.tests[0].state.level(), 2);
  EXPECT_THAT(spec.tests[1].state.stage(), IsEmpty());
  EXPECT_EQ(Load("net: 'b.prototxt' train_state { level: 4 }").train.state.level(), 0);
}

TEST_F(LoadSolverTest, TurnsTheOldSolverTypeIntoItsName) {
  EXPECT_EQ(Load("net: 'b.prototxt' solver_type: RMSPROP").param.type(), "RMSProp");
  EXPECT_EQ(Load("net: 'b.prototxt' solver_type: 1").param.type(), "Nesterov");
  EXPECT_EQ(Load("net: 'b.prototxt' type: 'Adam'").param.type(), "Adam");
  EXPECT_EQ(LoadMistake("net: 'b.prototxt' type: 'Adam'\nsolver_type: ADAM"),
            "s.prototxt:2:1: solver_type is the old form of type; keep only type: \"Adam\"");
}

// From the solvers of temporal segment networks and PSPNet.
TEST_F(LoadSolverTest, TakesListsOfDevices) {
  for (const char* devices :
       {"device_id: 3", "device_id: [0,1,2,3]", "device_id: 0 device_id: 1"}) {
    EXPECT_EQ(Load(std::string("net: 'net.prototxt' richness: 200 ") + devices).param.richness(),
              200);
  }
}

TEST_F(LoadSolverTest, CompletesTheSnapshotPrefix) {
  EXPECT_EQ(Load("net: 'b.prototxt'").param.snapshot_prefix(), folder_ + "s");
  EXPECT_EQ(Load("net: 'b.prototxt' snapshot_prefix: 'x/y'").param.snapshot_prefix(), "x/y");
  EXPECT_EQ(Load("net: 'b.prototxt' snapshot_prefix: '" + folder_ + "'").param.snapshot_prefix(),
            folder_ + "s");
}

TEST_F(LoadSolverTest, ChecksCountsAndFieldsThatExcludeEachOther) {
  EXPECT_EQ(LoadMistake("net: 'b.prototxt'\niter_size: 0\naverage_loss: 0\nmax_iter: -1"),
            "s.prototxt:2:1: iter_size must be at least 1, got 0\n"
            "s.prototxt:3:1: average_loss must be at least 1, got 0\n"
            "s.prototxt:4:1: max_iter must be at least 0, got -1");
  EXPECT_EQ(
      LoadMistake("net: 'b.prototxt' max_iter: 1\nmax_epoch: 1"),
      "s.prototxt:2:1: has max_epoch and max_iter, which have the same meaning; keep one of them");
}

TEST_F(LoadSolverTest, ReportsTheMistakesOfAllFilesOnce) {
  Write("net.prototxt", "nam: 'x'");
  Write("a.prototxt", "layer { nam: 'x' }");
  EXPECT_EQ(LoadMistake("net: 'net.prototxt' test_net: 'a.prototxt' test_iter: [1, 1] "
                        "test_interval: 1"),
            "net.prototxt:1:1: unknown field 'nam' in NetParameter; did you mean 'name'?\n"
            "a.prototxt:1:9: unknown field 'nam' in LayerParameter; did you mean 'name'?");
}

TEST_F(LoadSolverTest, AppliesOverridesToEveryNet) {
  Write("s.prototxt",
        "net: 'net.prototxt' test_net: 'a.prototxt' test_iter: [1, 1] test_interval: 1");
  const SolverSpec spec =
      LoadSolver(folder_ + "s.prototxt",
                 ParseOverrides({"test_interval=9", "net.name=z", "net.layer[ip].top=out"}));
  EXPECT_EQ(spec.param.test_interval(), 9);
  EXPECT_THAT(Names(spec), ElementsAre("z", "z"));
  EXPECT_EQ(spec.train.net.layer(1).top(0), "out");
  EXPECT_EQ(spec.train.net.layer(1).top_size(), 1);
  EXPECT_THROW(LoadSolver(folder_ + "s.prototxt", ParseOverrides({"net.layer[no].top=t"})), Error);
}

TEST_F(LoadSolverTest, UpgradesOldNetsAndSaysSoOnceForEachFile) {
  Write("old.prototxt",
        "name: 'old'\nlayers { name: 'd' type: DUMMY_DATA top: 'x' }\nlayers { name: 'r' type: "
        "RELU }");
  Write("s.prototxt",
        "net: 'old.prototxt' test_iter: [1, 1, 1] test_interval: 1\n"
        "test_net_param { layers { layer { type: 'tanh' } } }");
  const SolverSpec spec = LoadSolver(folder_ + "s.prototxt",
                                     ParseOverrides({"net.layer[r].relu_param.negative_slope=2"}));
  ASSERT_EQ(spec.tests.size(), 3u);
  EXPECT_EQ(spec.train.net.layer(0).type(), "DummyData");
  EXPECT_EQ(spec.tests[0].net.layer(0).type(), "TanH");
  EXPECT_EQ(spec.tests[1].net.layer(1).relu_param().negative_slope(), 2);
  std::vector<std::string> places;
  for (const Warning& warning : spec.warnings) {
    EXPECT_THAT(warning.message, testing::HasSubstr("format, upgraded in memory"));
    places.push_back(warning.at.ToString());
  }
  EXPECT_THAT(places, ElementsAre(folder_ + "s.prototxt:2:18", folder_ + "old.prototxt:2:1"));
}

TEST_F(LoadSolverTest, ReportsMistakesOfAnOldNetOnce) {
  Write("old.prototxt", "layers {\n layer { type: 'rleu' } }");
  EXPECT_EQ(LoadMistake("net: 'old.prototxt' test_iter: 1 test_interval: 1"),
            "old.prototxt:2:10: layer '': unknown type 'rleu' in the V0 format; did you mean "
            "'relu'?");
}

TEST_F(LoadSolverTest, ReadsANetAlone) {
  const NetSource net =
      LoadNet(folder_ + "a.prototxt", ParseOverrides({"net.name=z"}), TEST, 2, {"f"});
  EXPECT_EQ(net.net.name(), "z");
  EXPECT_EQ(net.state.phase(), TEST);
  EXPECT_EQ(net.state.level(), 2);
  EXPECT_THAT(net.state.stage(), ElementsAre("own", "f"));
}

}  // namespace
}  // namespace doppio
