// Tests the command line: every spelling that gflags accepts, and the messages for wrong ones.
#include "tools/cli/flags.h"

#include <gtest/gtest.h>

#include "tools/train/nets.h"

#include <cstdlib>
#include <fstream>

DEFINE_string(fruit, "", "<NAME> a flag of 'bake' only");
DEFINE_string(fruits, "", "<NAMES> a flag of 'sift' only");
DEFINE_string(resume, "", "<PATH> optional value");
DECLARE_string(set);
DECLARE_string(unset);

namespace doppio {
namespace {

ExitCode Nothing(const CommandLine&, bool*) { return ExitCode::kDone; }

DOPPIO_REGISTER(Commands, "cook",
                {"cooks",
                 {"solver", "gpu", "json", "engine", "iterations", "set", "unset", "resume",
                  "recompute", "offload"},
                 {"solver"},
                 "",
                 "",
                 &Nothing});
DOPPIO_REGISTER(Commands, "bake",
                {"bakes", {"fruit", "model", "iterations"}, {}, "FILES...", "", &Nothing});
DOPPIO_REGISTER(Commands, "sift",
                {"sifts", {"data_threads", "fruits"}, {}, "", "", &Nothing, {"winnow", "riddle"}});

class Flags : public testing::Test {
 protected:
  static CommandLine Parse(std::vector<std::string> words) {
    words.insert(words.begin(), "bin/doppio");
    return ParseCommandLine(words);
  }
  // Returns the message that the user sees.
  static std::string Complaint(const std::vector<std::string>& words) {
    try {
      Parse(words);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::kUsage);
      return e.what();
    }
    return "";
  }

  gflags::FlagSaver saver_;
};

TEST_F(Flags, AreTakenInEverySpelling) {
  const std::vector<std::vector<std::string>> spellings = {{"cook", "--solver=s", "--gpu=3"},
                                                           {"cook", "-solver", "s", "-gpu", "3"},
                                                           {"cook", "--solver", "s", "-gpu=3"},
                                                           {"-gpu", "3", "cook", "-solver=s"},
                                                           {"--gpu", "3", "--solver", "s", "cook"}};
  for (const auto& words : spellings) {
    FLAGS_solver = FLAGS_gpu = "";
    EXPECT_EQ(Parse(words).command_name, "cook");
    EXPECT_EQ(FLAGS_solver, "s");
    EXPECT_EQ(FLAGS_gpu, "3");
  }
}

TEST_F(Flags, NeedNoValueIfBoolean) {
  Parse({"cook", "--solver=s", "--json"});
  EXPECT_TRUE(FLAGS_json);
  Parse({"cook", "--solver=s", "--nojson"});
  EXPECT_FALSE(FLAGS_json);
  Parse({"cook", "--solver=s", "-json=yes"});
  EXPECT_TRUE(FLAGS_json);
}

TEST_F(Flags, BelongToACommandUnderItsOldNamesToo) {
  EXPECT_EQ(Parse({"riddle", "--data_threads=3"}).command_name, "sift");
  EXPECT_EQ(ParseCommandLine({"/old/bin/winnow", "--data_threads=4"}).command_name, "sift");
  EXPECT_EQ(FLAGS_data_threads, 4);
}

TEST_F(Flags, TakeADashForAnUnderscore) {
  Parse({"sift", "--data-threads=2"});
  EXPECT_EQ(FLAGS_data_threads, 2);
}

TEST_F(Flags, MayRepeatSetAndUnset) {
  const CommandLine line =
      Parse({"cook", "--set", "base_lr=1", "--solver=s", "--unset=momentum", "--set=a.b=2=3"});
  EXPECT_EQ(line.sets, (std::vector<std::string>{"base_lr=1", "a.b=2=3"}));
  EXPECT_EQ(line.unsets, std::vector<std::string>{"momentum"});
}

TEST_F(Flags, OfForksAreTakenWithAWarning) {
  const CommandLine line = Parse({"cook", "-param_server", "mpi", "--solver=s", "--comm-threads=4",
                                  "-forward_only", "-gpu", "1"});
  EXPECT_EQ(FLAGS_solver, "s");
  EXPECT_EQ(FLAGS_gpu, "1");
  EXPECT_TRUE(line.files.empty());
  ASSERT_EQ(line.warnings.size(), 3u);
  EXPECT_EQ(line.warnings[0],
            "--param_server is a flag of Intel Caffe and has no effect; ranks are those of mpirun "
            "or srun, and "
            "every iteration is one update of all of them");
  EXPECT_NE(line.warnings[1].find("--comm_threads is a flag of Intel Caffe"), std::string::npos)
      << line.warnings[1];
  EXPECT_NE(line.warnings[2].find("--phase=TEST"), std::string::npos) << line.warnings[2];
}

TEST_F(Flags, NameEnginesOfForks) {
  for (const char* name : {"MKLDNN", "MKLDNN:CPU", "MKL2017", "CAFFE"}) {
    FLAGS_engine = "";
    const CommandLine line = Parse({"cook", "--solver=s", std::string("-engine=") + name});
    EXPECT_EQ(FLAGS_engine, "");
    ASSERT_EQ(line.warnings.size(), 1u);
    EXPECT_EQ(line.warnings[0],
              std::string("--engine=") + name +
                  " is Intel Caffe's and has no effect; the fastest kernels are taken "
                  "by themselves, --engine=reference takes the plain ones");
  }
}

TEST_F(Flags, EndAtTwoDashes) {
  const CommandLine line = Parse({"bake", "--", "--fruit", "-x"});
  EXPECT_EQ(line.files, (std::vector<std::string>{"--fruit", "-x"}));
}

TEST_F(Flags, DoNotBeginLikeANumber) {
  EXPECT_EQ(Parse({"bake", "-2.5", "-.5"}).files, (std::vector<std::string>{"-2.5", "-.5"}));
}

TEST_F(Flags, ResumeAloneMeansAuto) {
  Parse({"cook", "--resume", "--solver=s"});
  EXPECT_EQ(FLAGS_resume, "auto");
  Parse({"cook", "--solver=s", "--resume", "a_iter_5.solverstate"});
  EXPECT_EQ(FLAGS_resume, "a_iter_5.solverstate");
  EXPECT_EQ(Parse({"--resume", "cook", "--solver=s"}).command_name, "cook");
  EXPECT_EQ(FLAGS_resume, "auto");
}

TEST_F(Flags, OfMemoryAloneMeanAuto) {
  Parse({"cook", "--recompute", "--offload", "--solver=s"});
  EXPECT_EQ(FLAGS_recompute, "auto");
  EXPECT_EQ(FLAGS_offload, "auto");
  EXPECT_EQ(PlanFromFlags(nullptr).saving.segments, 0);
  EXPECT_EQ(PlanFromFlags(nullptr).saving.activation_bytes, 0);
  Parse({"cook", "--recompute=5", "--offload=300", "--solver=s"});
  EXPECT_EQ(PlanFromFlags(nullptr).saving.segments, 5);
  EXPECT_EQ(PlanFromFlags(nullptr).saving.activation_bytes, int64_t{300} << 20);
  EXPECT_FALSE(PlanFromFlags(nullptr).saving.light);
  Parse({"cook", "--recompute=light", "--offload=off", "--solver=s"});
  EXPECT_EQ(PlanFromFlags(nullptr).saving.segments, 0);
  EXPECT_TRUE(PlanFromFlags(nullptr).saving.light);
  EXPECT_LT(PlanFromFlags(nullptr).saving.activation_bytes, 0);
  Parse({"cook", "--recompute=off", "--solver=s"});
  EXPECT_EQ(PlanFromFlags(nullptr).saving.segments, 1);
}

TEST_F(Flags, OfMemoryRefuseOtherValues) {
  for (const char* wrong :
       {"--recompute=1", "--recompute=no", "--recompute=", "--recompute=2.5", "--offload=0",
        "--offload=light", "--offload=-3", "--offload=123456789012345678901"}) {
    Parse({"cook", "--recompute=off", "--offload=off", "--solver=s", wrong});
    try {
      SavingFromFlags();
      FAIL() << wrong;
    } catch (const UsageError& e) {
      EXPECT_NE(e.message().find("wants off, auto"), std::string::npos) << e.message();
    }
  }
}

TEST_F(Flags, OfOtherCommandsOnlyWarn) {
  const CommandLine line = Parse({"cook", "--solver=s", "--fruit=plum"});
  ASSERT_EQ(line.warnings.size(), 1u);
  EXPECT_EQ(line.warnings[0], "--fruit has no effect on 'cook': it is a flag of 'bake'");
  EXPECT_EQ(FLAGS_fruit, "");
}

TEST_F(Flags, OfOtherCommandsAreMistakesWhereTheyAreCloseToAnOwnOne) {
  EXPECT_EQ(Complaint({"bake", "--fruits=plum"}),
            "unknown flag '--fruits'; did you mean '--fruit'?\ntry: doppio bake --help");
}

TEST_F(Flags, UnknownOnesAreAnsweredWithTheNearest) {
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--itertions=3"}),
            "unknown flag '--itertions'; did you mean '--iterations'?\ntry: doppio cook --help");
  EXPECT_EQ(Complaint({"cook", "--solvr=s", "--zzzzzzzz"}),
            "unknown flag '--solvr'; did you mean '--solver'?\nunknown flag '--zzzzzzzz'\ntry: "
            "doppio cook --help");
}

TEST_F(Flags, ThatAreFieldsOfTheSolverBelongToSet) {
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--max_iter=3"}),
            "unknown flag '--max_iter'; did you mean '--set max_iter=...'?\ntry: doppio cook "
            "--help");
  EXPECT_EQ(Complaint({"bake", "--base_lr=3"}),
            "unknown flag '--base_lr'\ntry: doppio bake --help");
}

TEST_F(Flags, WithoutAValueAreNotThere) {
  EXPECT_EQ(Complaint({"cook", "--solver="}), "'cook' needs --solver\ntry: doppio cook --help");
}

TEST_F(Flags, ReportAWrongValueAndWhatIsWanted) {
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--iterations=many"}),
            "--iterations wants an integer, got 'many'\ntry: doppio cook --help");
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--gpu"}),
            "--gpu needs a value\ntry: doppio cook --help");
}

TEST_F(Flags, MissingOnesAreNamed) {
  EXPECT_EQ(Complaint({"cook"}), "'cook' needs --solver\ntry: doppio cook --help");
}

TEST_F(Flags, AFileWithoutAFlagIsAskedFor) {
  EXPECT_EQ(Complaint({"cook", "net/s.prototxt"}),
            "'cook' does not know what to do with 'net/s.prototxt'; did you mean "
            "--solver=net/s.prototxt?\n"
            "try: doppio cook --help");
}

TEST_F(Flags, UnknownCommandsAreAnsweredWithTheNearest) {
  EXPECT_EQ(Complaint({"cok", "--solver=s"}), "unknown command 'cok'; did you mean 'cook'?");
}

TEST_F(Flags, HelpNeverFailsForTheRestOfTheLine) {
  EXPECT_TRUE(Parse({"cook", "--help"}).help);
  EXPECT_TRUE(Parse({"cook", "-h"}).help);
  EXPECT_TRUE(Parse({"--version"}).version);
}

TEST_F(Flags, ALinkNamedLikeACommandIsThatCommand) {
  EXPECT_EQ(ParseCommandLine({"/usr/bin/cook", "--solver=s"}).command_name, "cook");
  EXPECT_EQ(ParseCommandLine({"/usr/bin/caffe", "cook", "--solver=s"}).command_name, "cook");
  EXPECT_EQ(ParseCommandLine({"caffe"}).command, nullptr);
}

TEST_F(Flags, ComeFromTheEnvironmentWhenNotGiven) {
  setenv("DOPPIO_GPU", "5", 1);
  setenv("DOPPIO_SOLVER", "e", 1);
  Parse({"cook", "--gpu=1"});
  EXPECT_EQ(FLAGS_gpu, "1");
  EXPECT_EQ(FLAGS_solver, "e");
  setenv("DOPPIO_ITERATIONS", "few", 1);
  EXPECT_EQ(Complaint({"cook"}).substr(0, 46), "DOPPIO_ITERATIONS wants an integer, got 'few'\n");
  for (const char* name : {"DOPPIO_GPU", "DOPPIO_SOLVER", "DOPPIO_ITERATIONS"}) unsetenv(name);
}

TEST_F(Flags, ComeFromGflagsVariablesOnRequestOnly) {
  setenv("FLAGS_gpu", "6", 1);
  Parse({"cook", "--solver=s"});
  EXPECT_EQ(FLAGS_gpu, "");
  Parse({"cook", "--solver=s", "--fromenv=gpu"});
  EXPECT_EQ(FLAGS_gpu, "6");
  unsetenv("FLAGS_gpu");
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--fromenv=gpu"}),
            "--fromenv=gpu: FLAGS_gpu is not set in the environment");
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--tryfromenv=gpu"}), "");
}

TEST_F(Flags, ComeFromAFile) {
  const std::string path = testing::TempDir() + "/flags.txt";
  std::ofstream(path) << "# our cluster\n--solver=from_file\n\n  -gpu=7  \n--set=base_lr=2\n";
  const CommandLine line = Parse({"cook", "--flagfile=" + path});
  EXPECT_EQ(FLAGS_solver, "from_file");
  EXPECT_EQ(FLAGS_gpu, "7");
  EXPECT_EQ(line.sets, std::vector<std::string>{"base_lr=2"});
}

TEST_F(Flags, OfTheLogLibraryAreTaken) {
  EXPECT_TRUE(
      Parse({"cook", "--solver=s", "-alsologtostderr=1", "--minloglevel=0"}).warnings.empty());
}

}  // namespace
}  // namespace doppio
