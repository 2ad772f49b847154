// Tests reading run folders: complete, being written, resumed, killed.
#include "tools/runs/metrics.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/base/host_name.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

class RunFolderCase : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/runXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << content;
  }
  void WriteRun(const std::string& status, double heartbeat, int64_t pid) {
    const nlohmann::json run = {{"id", "r1"},
                                {"argv", {"train", "--solver=s"}},
                                {"host", HostName()},
                                {"status", status},
                                {"heartbeat", heartbeat},
                                {"started", heartbeat - 90},
                                {"pid", pid},
                                {"max_iter", 500},
                                {"iter", 120},
                                {"seed", 18446744073709551615U},
                                {"parent", nullptr}};
    Write("run.json", run.dump());
  }
  std::string RunMistake() {
    return Mistake([&] { ReadRun(folder_); });
  }

  std::string folder_;
};

std::string TrainLine(int iter) {
  return R"({"t":1,"phase":"train","loss":0.5,"lr":0.01,"iter":)" + std::to_string(iter) + "}\n";
}

std::string TestLines(int iter) {
  std::string lines;
  for (const char* net : {"0", "1"}) {
    lines += R"({"t":1,"phase":"test","scores":{"accuracy":0.5},"net":)" + std::string(net) +
             R"(,"iter":)" + std::to_string(iter) + "}\n";
  }
  return lines;
}

TEST_F(RunFolderCase, OfALongRunTheEndIsRead) {
  WriteRun("finished", 1000, 1);
  std::string lines;
  for (int iter = 0; iter < 20000; ++iter)
    lines += TrainLine(iter) + (iter % 100 == 0 ? TestLines(iter) : "");
  Write("metrics.jsonl", lines);
  const RunRecord end = ReadRunEnd(folder_);
  EXPECT_EQ(ReadRun(folder_).train.size(), 20000U);
  EXPECT_LT(end.train.size(), 10000U);
  EXPECT_EQ(end.train.back().iter, 19999);
  ASSERT_GE(end.tests.size(), 3U);
  EXPECT_EQ(end.tests.back().iter, 19900);
  EXPECT_EQ(end.tests[end.tests.size() - 2].iter, 19900);
}

TEST_F(RunFolderCase, TheEndGoesBackAsFarAsTheLastNumbersAre) {
  WriteRun("finished", 1000, 1);
  std::string lines = TestLines(0);
  for (int iter = 0; iter < 20000; ++iter) lines += TrainLine(iter);
  Write("metrics.jsonl", lines);
  EXPECT_EQ(ReadRunEnd(folder_).tests.size(), 2U);
  // The run started again from the beginning, so the rest of the file does not count.
  Write("metrics.jsonl", TrainLine(0) + lines + R"({"t":1,"event":"resume","from_iter":1})" + "\n");
  EXPECT_EQ(ReadRunEnd(folder_).train.back().iter, 0);
}

TEST_F(RunFolderCase, AClockThatIsSetBackMakesNoTimeNegative) {
  Write("run.json", R"({"started":1000,"heartbeat":900})");
  EXPECT_EQ(ReadRun(folder_).Seconds(), 0);
}

TEST_F(RunFolderCase, IsReadWithItsSeries) {
  WriteRun("finished", 1000, 1);
  Write(
      "metrics.jsonl",
      R"({"t":1.5,"iter":0,"phase":"train","loss":2.5,"lr":0.01,"epoch":0,"images_per_s":100,"data_wait":0.25,"gpu_mem":7,"outputs":{"loss":2.4}})"
      "\n"
      R"({"t":2,"iter":100,"phase":"test","net":1,"scores":{"accuracy":0.75,"loss":null},"nonfinite":["loss"]})"
      "\n"
      R"({"t":3,"event":"snapshot","iter":100,"file":"a_iter_100.solverstate"})"
      "\n");
  Write(
      "exit.json",
      R"({"code":0,"reason":"finished","iter":500,"error":null,"resume_command":null,"seconds":12.5})");
  const RunRecord run = ReadRun(folder_);
  EXPECT_EQ(run.id, "r1");
  EXPECT_EQ(run.argv, (std::vector<std::string>{"train", "--solver=s"}));
  EXPECT_EQ(run.seed, 18446744073709551615U);
  EXPECT_EQ(run.status, "finished");
  EXPECT_EQ(run.parent, "");
  EXPECT_EQ(run.Seconds(), 90);
  ASSERT_EQ(run.train.size(), 1U);
  EXPECT_EQ(run.train[0].loss, 2.5);
  EXPECT_EQ(run.train[0].data_wait, 0.25);
  EXPECT_EQ(run.train[0].gpu_mem, 7);
  EXPECT_EQ(run.train[0].outputs[0], std::make_pair(std::string("loss"), 2.4));
  ASSERT_EQ(run.tests.size(), 1U);
  EXPECT_EQ(run.tests[0].net, 1);
  EXPECT_EQ(run.tests[0].Score("accuracy"), 0.75);
  EXPECT_TRUE(std::isnan(run.tests[0].Score("loss")));
  EXPECT_TRUE(std::isnan(run.tests[0].Score("absent")));
  ASSERT_EQ(run.events.size(), 1U);
  EXPECT_EQ(run.events[0].file, "a_iter_100.solverstate");
  ASSERT_TRUE(run.exit.has_value());
  EXPECT_EQ(run.exit->seconds, 12.5);
  EXPECT_EQ(run.exit->error, "");
}

TEST_F(RunFolderCase, ShowsOnceWhatAResumedRunHasMadeTwice) {
  WriteRun("finished", 1000, 1);
  Write("metrics.jsonl", R"({"iter":0,"phase":"train","loss":3})"
                         "\n"
                         R"({"iter":10,"phase":"train","loss":2})"
                         "\n"
                         R"({"iter":10,"phase":"test","scores":{"a":0.1}})"
                         "\n"
                         R"({"iter":20,"phase":"train","loss":1})"
                         "\n"
                         R"({"event":"resume","from_iter":10})"
                         "\n"
                         R"({"iter":10,"phase":"test","scores":{"a":0.2}})"
                         "\n"
                         R"({"iter":10,"phase":"train","loss":1.5})"
                         "\n");
  const RunRecord run = ReadRun(folder_);
  ASSERT_EQ(run.train.size(), 2U);
  EXPECT_EQ(run.train[1].iter, 10);
  EXPECT_EQ(run.train[1].loss, 1.5);
  ASSERT_EQ(run.tests.size(), 1U);
  EXPECT_EQ(run.tests[0].Score("a"), 0.2);
  ASSERT_EQ(run.events.size(), 1U);
  EXPECT_EQ(run.events[0].iter, 10);
}

TEST_F(RunFolderCase, OfAKilledProcessMayEndInHalfALine) {
  WriteRun("finished", 1000, 1);
  Write("metrics.jsonl", R"({"iter":0,"phase":"train","loss":3})"
                         "\n"
                         R"({"iter":10,"pha)"
                         "\n"
                         R"({"iter":20,"phase":"train","loss":1})"
                         "\n"
                         R"({"iter":30,)");
  const RunRecord run = ReadRun(folder_);
  ASSERT_EQ(run.train.size(), 2U);
  EXPECT_EQ(run.train[1].iter, 20);
  EXPECT_FALSE(run.exit.has_value());
}

TEST_F(RunFolderCase, IsLostWhenItsProcessIsGone) {
  const double now = SecondsSinceEpoch();
  WriteRun("running", now, getpid());
  EXPECT_EQ(ReadRun(folder_).status, "running");
  WriteRun("running", now - 61, getpid());
  EXPECT_EQ(ReadRun(folder_).status, "lost");
  constexpr int64_t kNobody = 0x7ffffff0;  // larger than any process id of the kernel
  WriteRun("running", now, kNobody);
  EXPECT_EQ(ReadRun(folder_).status, "lost");
  EXPECT_FALSE(IsLost(now, now, "another-host", kNobody));
  WriteRun("failed", now - 1000, kNobody);
  EXPECT_EQ(ReadRun(folder_).status, "failed");
}

TEST_F(RunFolderCase, HasNoEndWhileItGoesOn) {
  WriteRun("running", SecondsSinceEpoch(), getpid());
  Write("exit.json", R"({"code":75,"reason":"stopped by a signal"})");
  EXPECT_FALSE(ReadRun(folder_).exit.has_value());
}

TEST_F(RunFolderCase, MistakesAreNamed) {
  EXPECT_EQ(RunMistake(), "'" + folder_ + "' is no run folder: it has no run.json");
  Write("run.json", "{\"id\":");
  EXPECT_EQ(RunMistake(), "'" + folder_ + "/run.json' is damaged: it is no JSON object");
  EXPECT_THROW(FindRuns(folder_ + "/absent"), FileError);
}

// Copying or printing such a value would overflow the stack.
TEST_F(RunFolderCase, RefusesValuesThatLieTooDeepInEachOther) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  Write("run.json", "{\"id\": \"r1\", \"job\": " + deep + "}");
  EXPECT_EQ(RunMistake(), "'" + folder_ + "/run.json' is damaged: it is no JSON object");
  WriteRun("done", 1000, getpid());
  Write("metrics.jsonl", "{\"t\":1,\"iter\":1,\"phase\":\"train\",\"loss\":" + deep +
                             "}\n{\"t\":1,\"iter\":2,\"phase\":\"train\",\"loss\":\"[[\"}\n"
                             "{\"t\":1,\"iter\":1e300,\"phase\":\"train\",\"loss\":3}\n");
  const RunRecord run = ReadRun(folder_);
  ASSERT_EQ(run.train.size(), 2u);
  EXPECT_EQ(run.train[0].iter, 2);
  EXPECT_EQ(run.train[1].iter, 0);
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const FoundRun& run : FindRuns(folder)) {
    names.push_back(run.name);
    EXPECT_TRUE(IsRunFolder(run.folder)) << run.folder;
  }
  return names;
}

TEST_F(RunFolderCase, AreFoundByNameWithTrialsUnderTheirSweep) {
  Write("b/run.json", "{}");
  Write("a/run.json", "{}");
  Write("a/tb/run.json", "{}");  // a folder inside a run is not a run
  Write("lr/t001/run.json", "{}");
  Write("lr/t000/run.json", "{}");
  Write("lr/deep/t000/run.json", "{}");
  Write("other/file", "");
  EXPECT_EQ(NamesIn(folder_), (std::vector<std::string>{"a", "b", "lr/t000", "lr/t001"}));
  EXPECT_EQ(NamesIn(folder_ + "/lr"), (std::vector<std::string>{"deep/t000", "t000", "t001"}));
  EXPECT_EQ(NamesIn(folder_ + "/a/")[0], "a");
}

TEST_F(RunFolderCase, ALiveRunIsAsFarAsItsNumbersAre) {
  WriteRun("running", SecondsSinceEpoch(), getpid());
  EXPECT_EQ(ReadRun(folder_).iter, 120);
  Write("metrics.jsonl", R"({"iter":879,"phase":"train","loss":3,"images_per_s":250})"
                         "\n");
  for (const RunRecord& run : {ReadRun(folder_), ReadRunEnd(folder_)}) {
    EXPECT_EQ(run.iter, 880);
    EXPECT_EQ(run.images_per_s, 250);
  }
  EXPECT_EQ(ReadRunState(folder_).iter, 120);
  // A finished run has recorded its last iteration.
  WriteRun("finished", SecondsSinceEpoch(), getpid());
  EXPECT_EQ(ReadRun(folder_).iter, 120);
}

// Otherwise the pages of all runs would wait for a writer of one run's pipe.
TEST_F(RunFolderCase, RefusesAPipe) {
  WriteRun("running", SecondsSinceEpoch(), getpid());
  const std::string pipe = folder_ + "/metrics.jsonl";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Mistake<FileError>([&] { ReadRun(folder_); }).find("'" + pipe + "' is a pipe"), 0u);
  EXPECT_EQ(Mistake<FileError>([&] { ReadRunEnd(folder_); }).find("'" + pipe + "' is a pipe"), 0u);
}

TEST_F(RunFolderCase, AHeartbeatGivesTimeAndRate) {
  Write("run.json", R"({"started":1000,"heartbeat":5000,"seconds":75.5,"images_per_s":1200})");
  EXPECT_EQ(ReadRun(folder_).Seconds(), 75.5);  // it was resumed after a pause
  EXPECT_EQ(ReadRun(folder_).images_per_s, 1200);
  Write("run.json", R"({"started":1000,"heartbeat":1060,"images_per_s":null})");
  Write("metrics.jsonl", R"({"iter":0,"phase":"train","images_per_s":0})"
                         "\n");
  EXPECT_EQ(ReadRun(folder_).Seconds(), 60);
  EXPECT_TRUE(std::isnan(ReadRun(folder_).images_per_s));
}

TEST_F(RunFolderCase, SettingsHaveThePathsOfSet) {
  Write("solver.prototxt", "base_lr: 0.01 stepvalue: 10 stepvalue: 20 type: \"SGD\"");
  Write("net.prototxt",
        "name: 'n' layer { name: 'data' type: 'Input' } layer { name: 'data' type: 'Data' }"
        "layer { name: 'ip' type: 'InnerProduct' inner_product_param { num_output: 20 } param { "
        "lr_mult: 2 } }");
  Write("test_net_0.prototxt", "name: 't'");
  const auto settings = ReadSettings(folder_);
  EXPECT_EQ(settings.at("base_lr"), "0.01");
  EXPECT_EQ(settings.at("stepvalue"), "[10,20]");
  EXPECT_EQ(settings.at("net.layer[ip].inner_product_param.num_output"), "20");
  EXPECT_EQ(settings.at("net.layer[ip].param[0].lr_mult"), "2");
  EXPECT_EQ(settings.at("net.layer[data].type"), "\"Input\"");
  EXPECT_EQ(settings.at("net.layer[data][2].type"), "\"Data\"");
  EXPECT_EQ(settings.at("test_net_0.name"), "\"t\"");
}

}  // namespace
}  // namespace doppio
