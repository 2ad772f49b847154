#include "tools/sweep/sweep_journal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "core/base/file.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

class SweepJournalTest : public ::testing::Test {
 protected:
  SweepJournalTest() {
    std::string pattern = ::testing::TempDir() + "sweepXXXXXX";
    folder_ = mkdtemp(pattern.data());
    settings_.solver = "s.prototxt";
    settings_.method = "random";
    settings_.params = {"base_lr=0.1,0.2"};
    settings_.trials = settings_.draws = 3;
    settings_.seed = 18446744073709551615u;
    settings_.metric = "max:accuracy";
    settings_.rungs = {10, 30};
    settings_.train = {"--set=max_iter=5"};
  }
  std::string path() const { return folder_ + "/sweep.jsonl"; }
  void Add(const std::string& text) { std::ofstream(path(), std::ios::app) << text; }
  std::string OpenMistake() {
    return Mistake<FileError>([&] { SweepJournal(folder_, false); });
  }

  std::string folder_;
  SweepSettings settings_;
};

TEST_F(SweepJournalTest, IsReadAsItWasWritten) {
  SweepJournal::Create(folder_, settings_);
  {
    SweepJournal journal(folder_ + "/", true);
    journal.Begin(1, 0, {"base_lr=0.2"});
    journal.Add({1, 0, SweepTrial::kDone, 10, 0.5, 1.5, ""});
    journal.Begin(1, 1, {"base_lr=0.2"});
    journal.Add({1, 1, SweepTrial::kDone, 30, 0.75, 2, ""});
    journal.Begin(2, 0, {"base_lr=0.1"});
    journal.Add({2, 0, SweepTrial::kFailed, 0, std::nan(""), 0.25, "bad \xff \"thing\""});
    journal.Begin(0, 0, {"base_lr=0.1"});
  }
  const SweepJournal journal(folder_, false);
  EXPECT_EQ(journal.folder(), folder_);
  EXPECT_EQ(journal.settings().seed, settings_.seed);
  EXPECT_EQ(journal.settings().params, settings_.params);
  EXPECT_EQ(journal.settings().rungs, settings_.rungs);
  EXPECT_EQ(journal.settings().train, settings_.train);
  ASSERT_EQ(journal.trials().size(), 3u);
  const SweepTrial &first = journal.trials()[0], &second = journal.trials()[1],
                   &third = journal.trials()[2];
  EXPECT_EQ(first.state, SweepTrial::kRunning);
  EXPECT_TRUE(std::isnan(first.score()));
  EXPECT_EQ(second.scores, (std::vector<double>{0.5, 0.75}));
  EXPECT_EQ(second.seconds, 3.5);
  EXPECT_EQ(second.iter, 30);
  EXPECT_TRUE(second.Ended(0) && second.Ended(1) && !second.Ended(2));
  EXPECT_EQ(third.state, SweepTrial::kFailed);
  EXPECT_EQ(third.sets, std::vector<std::string>{"base_lr=0.1"});
  EXPECT_TRUE(std::isnan(third.score()));
  EXPECT_NE(third.error.find("\"thing\""), std::string::npos);
}

TEST_F(SweepJournalTest, HasNumbersAsNumbers) {
  SweepJournal::Create(folder_, settings_);
  const std::vector<std::string> sets = {
      "base_lr=1e-4", "n=16", "a=-.5", "type=Adam", "mean=nan", "x=0x10", "s=007", "q=\"7\"", "e="};
  SweepJournal(folder_, true).Begin(0, 0, sets);
  EXPECT_NE(
      ReadFile(path()).find(R"("values":{"a":-0.5,"base_lr":0.0001,"e":"",)"
                            R"("mean":"nan","n":16,"q":"\"7\"","s":7.0,"type":"Adam","x":"0x10"})"),
      std::string::npos)
      << ReadFile(path());
  EXPECT_EQ(SweepJournal(folder_, false).trials()[0].sets, sets);
}

TEST_F(SweepJournalTest, ReadsTrialsWithoutValues) {
  SweepJournal::Create(folder_, settings_);
  Add(R"({"event":"begin","trial":0,"rung":0,"set":["base_lr=0.1"]})"
      "\n");
  EXPECT_EQ(SweepJournal(folder_, false).trials()[0].sets,
            (std::vector<std::string>{"base_lr=0.1"}));
}

TEST_F(SweepJournalTest, AStoppedTrialMayEndAgain) {
  SweepJournal::Create(folder_, settings_);
  SweepJournal journal(folder_, true);
  journal.Begin(0, 0, {"base_lr=0.1"});
  journal.Add({0, 0, SweepTrial::kStopped, 5, 0.25, 1, ""});
  EXPECT_FALSE(journal.trials()[0].Ended(0));
  EXPECT_EQ(Name(journal.trials()[0].state), "stopped");
  journal.Add({0, 0, SweepTrial::kDone, 10, 0.5, 2, ""});
  const SweepTrial trial = SweepJournal(folder_, false).trials()[0];
  EXPECT_TRUE(trial.Ended(0));
  EXPECT_EQ(trial.scores, (std::vector<double>{0.5}));
  EXPECT_EQ(trial.seconds, 3);
}

TEST_F(SweepJournalTest, ForgetsALineThatAKillHasCutOff) {
  SweepJournal::Create(folder_, settings_);
  { SweepJournal(folder_, true).Begin(0, 0, {"base_lr=0.1"}); }
  Add(R"({"event":"end","trial":0,"ru)");
  EXPECT_EQ(SweepJournal(folder_, false).trials()[0].state, SweepTrial::kRunning);
  { SweepJournal(folder_, true).Add({0, 0, SweepTrial::kDone, 10, 1, 1, ""}); }
  EXPECT_EQ(SweepJournal(folder_, false).trials()[0].state, SweepTrial::kDone);
  EXPECT_EQ(ReadFile(path()).find("\"ru{"), std::string::npos);
}

TEST_F(SweepJournalTest, NamesTheLineThatIsDamaged) {
  SweepJournal::Create(folder_, settings_);
  Add("{\"event\":\"later version\"}\nrubbish\n");
  EXPECT_EQ(OpenMistake().substr(0, path().size() + 3), path() + ":3:") << OpenMistake();
}

TEST_F(SweepJournalTest, RefusesWhatNoSweepWrites) {
  for (
      const char* line :
      {R"({"event":"end","trial":-1,"rung":0,"state":"done","iter":1,"score":1,"seconds":1,"error":""})",
       R"({"event":"end","trial":1,"rung":0,"state":"won","iter":1,"score":1,"seconds":1,"error":""})",
       R"({"event":"begin","trial":123456789012,"rung":0,"set":[]})", R"({"event":"sweep"})", "[]",
       "7", R"({"event":"begin","trial":1,"rung":4294967296,"set":[]})",
       R"({"event":"begin","trial":1,"rung":1e300,"set":[]})",
       R"({"event":"begin","trial":1.5,"rung":0,"set":[]})",
       R"({"event":"end","trial":1,"rung":0,"state":"done","iter":18446744073709551615,"score":1,"seconds":1,"error":""})"}) {
    std::remove(path().c_str());
    SweepJournal::Create(folder_, settings_);
    Add(std::string(line) + "\n");
    EXPECT_NE(OpenMistake().find("damaged"), std::string::npos) << line;
  }
  EXPECT_THROW(SweepJournal::Create(folder_, settings_), FileError);
  EXPECT_THROW(SweepJournal(folder_ + "/none", false), FileError);
}

TEST_F(SweepJournalTest, RefusesSettingsThatNoSweepHas) {
  for (const auto& [right, wrong] : {std::pair("\"eta\":3", "\"eta\":0"),
                                     {"\"jobs\":1", "\"jobs\":1000000000"},
                                     {"\"rungs\":[10,30]", "\"rungs\":[1e99]"},
                                     {"\"trials\":3", "\"trials\":-3"}}) {
    std::remove(path().c_str());
    SweepJournal::Create(folder_, settings_);
    std::string content = ReadFile(path());
    const size_t at = content.find(right);
    ASSERT_NE(at, std::string::npos) << content;
    content.replace(at, std::string(right).size(), wrong);
    std::ofstream(path()) << content;
    EXPECT_NE(OpenMistake().find("damaged"), std::string::npos) << wrong << ": " << OpenMistake();
  }
}

TEST_F(SweepJournalTest, RefusesALineOfEndlessNesting) {
  SweepJournal::Create(folder_, settings_);
  Add(R"({"event":)" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}\n");
  EXPECT_NE(OpenMistake().find("damaged"), std::string::npos) << OpenMistake().substr(0, 200);
}

TEST_F(SweepJournalTest, SeveralProcessesAddToIt) {
  SweepJournal::Create(folder_, settings_);
  constexpr int kProcesses = 4, kTrials = 10;
  for (int process = 0; process < kProcesses; ++process) {
    if (fork() != 0) continue;
    SweepJournal journal(folder_, true);
    for (int i = 0; i < kTrials; ++i) {
      // Takes the next free number, as `sweep ask` does.
      const SweepJournal::Hold hold(&journal);
      journal.Begin(static_cast<int64_t>(journal.trials().size()), 0, {"base_lr=0.1"});
    }
    _exit(0);
  }
  for (int process = 0; process < kProcesses; ++process) {
    int status = 1;
    ASSERT_GT(wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(SweepJournal(folder_, false).trials().size(),
            static_cast<size_t>(kProcesses * kTrials));
}

TEST_F(SweepJournalTest, OneProcessRunsTheTrials) {
  const SweepLock lock(folder_, 0);
  EXPECT_THROW(SweepLock(folder_, 0), FileError);
}

TEST_F(SweepJournalTest, TrialsThatAreLeftKeepOthersWaiting) {
  int pipe_ends[2], end_of_trial[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  ASSERT_EQ(pipe(end_of_trial), 0);
  const pid_t child = fork();
  if (child == 0) {
    // A trial of a killed sweep has only the lock that it inherits.
    const SweepLock lock(folder_, 0);
    dup2(end_of_trial[0], STDIN_FILENO);
    close(end_of_trial[1]);
    const std::string script = "printf x >&" + std::to_string(pipe_ends[1]) + "; read nothing";
    if (fork() == 0) execlp("sh", "sh", "-c", script.c_str(), nullptr);
    _exit(0);
  }
  char ready = 0;
  ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_THROW(SweepLock(folder_, 0), FileError);
  close(end_of_trial[1]);
  const SweepLock lock(folder_, 60);
}

}  // namespace
}  // namespace doppio
