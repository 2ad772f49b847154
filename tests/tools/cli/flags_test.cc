// Tests the command line: every spelling that gflags accepts, and the messages for wrong ones.
#include "tools/cli/command_line.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "tests/testing/mistake.h"
#include "tests/testing/scoped_variable.h"
#include "tools/cli/arguments.h"
#include "tools/cli/command.h"
#include "tools/cli/fork_flags.h"
#include "tools/nets/nets.h"

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
                {"bakes", {"time", "model", "iterations", "csv"}, {}, "[FILES...]", "", &Nothing});
DOPPIO_REGISTER(Commands, "proof", {"proofs", {"epochs"}, {}, "", "", &Nothing});
DOPPIO_REGISTER(Commands, "sift",
                {"sifts", {"data_threads", "times"}, {}, "", "", &Nothing, {"winnow", "riddle"}});

class GivenFlags : public testing::Test {
 protected:
  static CommandLine Parse(std::vector<std::string> words) {
    words.insert(words.begin(), "bin/doppio");
    return ParseCommandLine(words);
  }
  // Returns the message that the user sees.
  static std::string Complaint(const std::vector<std::string>& words) {
    const Error e = Thrown([&] { Parse(words); });
    EXPECT_EQ(e.code(), ExitCode::kUsage);
    return e.what();
  }

 private:
  const gflags::FlagSaver flags_of_the_log_library_;
};

TEST_F(GivenFlags, AreTakenInEverySpelling) {
  const std::vector<std::vector<std::string>> spellings = {{"cook", "--solver=s", "--gpu=3"},
                                                           {"cook", "-solver", "s", "-gpu", "3"},
                                                           {"cook", "--solver", "s", "-gpu=3"},
                                                           {"-gpu", "3", "cook", "-solver=s"},
                                                           {"--gpu", "3", "--solver", "s", "cook"}};
  for (const auto& words : spellings) {
    const CommandLine line = Parse(words);
    EXPECT_EQ(line.command_name, "cook");
    EXPECT_EQ(line.flags.solver, "s");
    EXPECT_EQ(line.flags.gpu, "3");
  }
}

TEST_F(GivenFlags, NeedNoValueIfBoolean) {
  const auto json = [](const std::string& flag) {
    return Parse({"cook", "--solver=s", flag}).flags.json;
  };
  EXPECT_TRUE(json("--json"));
  EXPECT_FALSE(json("--nojson"));
  EXPECT_TRUE(json("-json=yes"));
  EXPECT_FALSE(json("-json=F"));
}

TEST_F(GivenFlags, BelongToACommandUnderItsOldNamesToo) {
  EXPECT_EQ(Parse({"riddle", "--data_threads=3"}).command_name, "sift");
  const CommandLine line = ParseCommandLine({"/old/bin/winnow", "--data_threads=4"});
  EXPECT_EQ(line.command_name, "sift");
  EXPECT_EQ(line.flags.data_threads, 4);
}

TEST_F(GivenFlags, TakeADashForAnUnderscore) {
  EXPECT_EQ(Parse({"sift", "--data-threads=2"}).flags.data_threads, 2);
}

TEST_F(GivenFlags, MayRepeatSetAndUnset) {
  const CommandLine line =
      Parse({"cook", "--set", "base_lr=1", "--solver=s", "--unset=momentum", "--set=a.b=2=3"});
  EXPECT_EQ(line.flags.set, (std::vector<std::string>{"base_lr=1", "a.b=2=3"}));
  EXPECT_EQ(line.flags.unset, std::vector<std::string>{"momentum"});
}

TEST_F(GivenFlags, OfForksAreTakenWithAWarning) {
  const CommandLine line = Parse({"cook", "-param_server", "mpi", "--solver=s", "--comm-threads=4",
                                  "-forward_only", "-gpu", "1"});
  EXPECT_EQ(line.flags.solver, "s");
  EXPECT_EQ(line.flags.gpu, "1");
  EXPECT_TRUE(line.files.empty());
  ASSERT_EQ(line.warnings.size(), 3u);
  EXPECT_EQ(line.warnings[0],
            "--param_server is a flag of Intel Caffe and has no effect; mpirun or srun starts the "
            "ranks, and all ranks take part in every update");
  EXPECT_NE(line.warnings[1].find("--comm_threads is a flag of Intel Caffe"), std::string::npos)
      << line.warnings[1];
  EXPECT_NE(line.warnings[2].find("--phase=TEST"), std::string::npos) << line.warnings[2];
}

TEST_F(GivenFlags, NameEnginesOfForks) {
  for (const char* name : {"MKLDNN", "MKLDNN:CPU", "MKL2017", "CAFFE"}) {
    const CommandLine line = Parse({"cook", "--solver=s", std::string("-engine=") + name});
    EXPECT_EQ(line.flags.engine, "");
    ASSERT_EQ(line.warnings.size(), 1u);
    EXPECT_EQ(line.warnings[0],
              std::string("--engine=") + name +
                  " is a value of Intel Caffe and has no effect; Doppio uses the fastest kernels "
                  "by default and the plain ones with --engine=reference");
  }
}

TEST_F(GivenFlags, NameAnEngineOfTheDevice) {
  const std::unique_ptr<Device> cpu = MakeCpuDevice();
  const auto plan = [&](const std::string& engine) {
    return MakePlanOptions(Parse({"cook", "--solver=s", "--engine=" + engine}).flags, cpu.get());
  };
  for (const char* engine : {"", "reference", "onednn", "fused", "winograd"})
    EXPECT_EQ(plan(engine).engine, engine);
  for (const char* engine : {"cudnn", "onedn"}) {
    EXPECT_EQ(Mistake<UsageError>([&] { plan(engine); }),
              "--engine: no kernel for this device (CPU) has the engine '" + std::string(engine) +
                  "'; its engines are fused, onednn, reference, winograd");
  }
}

TEST_F(GivenFlags, EndAtTwoDashes) {
  const CommandLine line = Parse({"bake", "--", "--time", "-x"});
  EXPECT_EQ(line.files, (std::vector<std::string>{"--time", "-x"}));
}

TEST_F(GivenFlags, DoNotBeginLikeANumber) {
  EXPECT_EQ(Parse({"bake", "-2.5", "-.5"}).files, (std::vector<std::string>{"-2.5", "-.5"}));
}

TEST_F(GivenFlags, ResumeAloneMeansAuto) {
  EXPECT_EQ(Parse({"cook", "--resume", "--solver=s"}).flags.resume, "auto");
  EXPECT_EQ(Parse({"cook", "--solver=s", "--resume", "a_iter_5.solverstate"}).flags.resume,
            "a_iter_5.solverstate");
  const CommandLine line = Parse({"--resume", "cook", "--solver=s"});
  EXPECT_EQ(line.command_name, "cook");
  EXPECT_EQ(line.flags.resume, "auto");
}

TEST_F(GivenFlags, OfMemoryAloneMeanAuto) {
  const std::unique_ptr<Device> cpu = MakeCpuDevice();
  const auto saving = [&](const std::string& recompute, const std::string& offload) {
    const CommandLine line = Parse({"cook", recompute, offload, "--solver=s"});
    return MakePlanOptions(line.flags, cpu.get()).saving;
  };
  EXPECT_EQ(saving("--recompute", "--offload").segments, 0);
  EXPECT_EQ(saving("--recompute", "--offload").activation_bytes, 0);
  EXPECT_EQ(saving("--recompute=5", "--offload=300").segments, 5);
  EXPECT_EQ(saving("--recompute=5", "--offload=300").activation_bytes, int64_t{300} << 20);
  EXPECT_FALSE(saving("--recompute=5", "--offload=300").light);
  EXPECT_EQ(saving("--recompute=light", "--offload=off").segments, 0);
  EXPECT_TRUE(saving("--recompute=light", "--offload=off").light);
  EXPECT_LT(saving("--recompute=light", "--offload=off").activation_bytes, 0);
  EXPECT_EQ(saving("--recompute=off", "--offload=off").segments, 1);
}

TEST_F(GivenFlags, OfMemoryRefuseOtherValues) {
  const std::unique_ptr<Device> cpu = MakeCpuDevice();
  for (const char* wrong :
       {"--recompute=1", "--recompute=no", "--recompute=", "--recompute=2.5", "--offload=0",
        "--offload=light", "--offload=-3", "--offload=123456789012345678901"}) {
    const CommandLine line = Parse({"cook", "--solver=s", wrong});
    const std::string text = Mistake<UsageError>([&] { MakePlanOptions(line.flags, cpu.get()); });
    EXPECT_NE(text.find("needs off, auto"), std::string::npos) << wrong << ": " << text;
  }
}

TEST_F(GivenFlags, OfOtherCommandsOnlyWarnIfCaffeHasThem) {
  const CommandLine line = Parse({"cook", "--solver=s", "--model=plum"});
  ASSERT_EQ(line.warnings.size(), 1u);
  EXPECT_EQ(line.warnings[0], "--model has no effect on 'cook': it is a flag of 'bake'");
  EXPECT_EQ(line.flags.model, "");
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--time=plum"}),
            "'cook' has no flag '--time', which is for 'bake'\ntry: doppio cook --help");
  EXPECT_EQ(Complaint({"--epochs=3", "cook", "--solver=s"}),
            "'cook' has no flag '--epochs', which is for 'proof'; did you mean '--set "
            "max_epoch=...'?\ntry: doppio cook --help");
}

TEST_F(GivenFlags, AreKnownByTheNamesOfOtherPrograms) {
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--lr=0.1"}),
            "unknown flag '--lr'; did you mean '--set base_lr=...'?\ntry: doppio cook --help");
  EXPECT_EQ(Complaint({"cook", "--config=s"}),
            "unknown flag '--config'; did you mean '--solver'?\ntry: doppio cook --help");
  EXPECT_EQ(Complaint({"bake", "--device=0"}), "unknown flag '--device'\ntry: doppio bake --help");
}

TEST_F(GivenFlags, OfOtherProgramsHaveARow) {
  for (const auto& [name, flag, meant] : std::vector<std::array<std::string, 3>>{
           {"lr", "set", "--set base_lr=..."},
           {"learning_rate", "set", "--set base_lr=..."},
           {"epochs", "set", "--set max_epoch=..."},
           {"num_epochs", "epochs", "--epochs"},
           {"device", "gpu", "--gpu"},
           {"output", "run_dir", "--run_dir"},
           {"output", "csv", "--csv=FILE"},
           {"output", "out", "--out"},
           {"batch_size", "batch", "--batch"},
           {"config", "solver", "--solver"},
           {"data", "solver", "--set net.layer[data].data_param.source=..."},
           {"verbose", "log_format", "--log_format=caffe"},
           {"workers", "data_threads", "--data_threads"},
           {"name", "run_dir", "--run_dir"},
           {"project", "run_dir", "--run_dir"},
           {"patience", "early_stop", "--early_stop=patience:N"},
           {"imgsz", "size", "--size"},
           {"imgsz", "resize", "--resize"},
           {"imgsz", "set", "--set net.layer[data].transform_param.crop_size=..."},
           {"optimizer", "set", "--set type=..."},
           {"amp", "precision", "--precision=fp16"},
           {"pretrained", "weights", "--weights"},
           {"max_grad_norm", "set", "--set clip_gradients=..."},
           {"Accumulate_Grad_Batches", "set", "--set iter_size=..."},
           {"save_best", "keep_best", "--keep_best"},
           {"conf", "unsure_below", "--unsure_below"},
           {"silent", "threads", "--quiet"},
           {"lr", "gpu", ""},
           {"nonsense", "set", ""},
       }) {
    EXPECT_EQ(FlagMeantBy(name, {"seconds", flag}), meant) << name << " with " << flag;
  }
}

TEST_F(GivenFlags, CommandsOfOtherProgramsHaveARow) {
  for (const auto& [word, meant] : std::vector<std::array<std::string, 2>>{{"predict", "classify"},
                                                                           {"eval", "test"},
                                                                           {"val", "test"},
                                                                           {"fit", "train"},
                                                                           {"tune", "sweep run"},
                                                                           {"benchmark", "time"},
                                                                           {"Download", "get"},
                                                                           {"nonsense", ""}})
    EXPECT_EQ(CommandMeantBy(word), meant) << word;
}

TEST_F(GivenFlags, QuietIsForAllCommands) {
  EXPECT_FALSE(Parse({"cook", "--solver=s"}).quiet);
  EXPECT_TRUE(Parse({"cook", "--quiet", "--solver=s"}).quiet);
  EXPECT_TRUE(Parse({"-quiet", "bake", "pie"}).quiet);
  EXPECT_FALSE(Parse({"bake", "--quiet", "--noquiet"}).quiet);
}

TEST_F(GivenFlags, MayNameAFileForResults) {
  EXPECT_FALSE(Parse({"bake"}).flags.csv);
  const CommandLine bare = Parse({"bake", "--csv", "pie"});
  EXPECT_TRUE(bare.flags.csv.to_standard_output());
  EXPECT_EQ(bare.files, std::vector<std::string>{"pie"});
  const ResultFile file = Parse({"bake", "--csv=out dir/표.csv"}).flags.csv;
  EXPECT_TRUE(file.given);
  EXPECT_EQ(file.path, "out dir/표.csv");
  EXPECT_TRUE(Parse({"bake", "--csv=true"}).flags.csv.to_standard_output());
  EXPECT_FALSE(Parse({"bake", "--csv=o.csv", "--nocsv"}).flags.csv);
}

TEST_F(GivenFlags, OfOtherCommandsAreMistakesWhereTheyAreCloseToAnOwnOne) {
  EXPECT_EQ(Complaint({"bake", "--times=plum"}),
            "unknown flag '--times'; did you mean '--time'?\ntry: doppio bake --help");
}

TEST_F(GivenFlags, UnknownOnesAreAnsweredWithTheNearest) {
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--itertions=3"}),
            "unknown flag '--itertions'; did you mean '--iterations'?\ntry: doppio cook --help");
  EXPECT_EQ(Complaint({"cook", "--solvr=s", "--zzzzzzzz"}),
            "unknown flag '--solvr'; did you mean '--solver'?\nunknown flag '--zzzzzzzz'\ntry: "
            "doppio cook --help");
}

TEST_F(GivenFlags, ThatAreFieldsOfTheSolverBelongToSet) {
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--max_iter=3"}),
            "unknown flag '--max_iter'; did you mean '--set max_iter=...'?\ntry: doppio cook "
            "--help");
  EXPECT_EQ(Complaint({"bake", "--base_lr=3"}),
            "unknown flag '--base_lr'\ntry: doppio bake --help");
}

TEST_F(GivenFlags, WithoutAValueAreNotThere) {
  EXPECT_EQ(Complaint({"cook", "--solver="}), "'cook' needs --solver\ntry: doppio cook --help");
}

TEST_F(GivenFlags, ReportAWrongValueAndWhatIsWanted) {
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--iterations=many"}),
            "--iterations needs an integer; got 'many'\ntry: doppio cook --help");
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--gpu"}),
            "--gpu needs a value\ntry: doppio cook --help");
}

TEST_F(GivenFlags, NumbersHaveTheSpellingsOfGflags) {
  const auto iterations = [](const std::string& value) {
    return Parse({"cook", "--solver=s", "--iterations=" + value}).flags.iterations;
  };
  EXPECT_EQ(iterations("-7"), -7);
  EXPECT_EQ(iterations("0x10"), 16);
  EXPECT_EQ(iterations("010"), 10);
  for (const char* wrong : {"", "3.5", "7 ", "2147483648"}) {
    EXPECT_EQ(
        Complaint({"cook", "--solver=s", std::string("--iterations=") + wrong}),
        "--iterations needs an integer; got '" + std::string(wrong) + "'\ntry: doppio cook --help");
  }
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--json=maybe"}),
            "--json needs true or false; got 'maybe'\ntry: doppio cook --help");
}

TEST_F(GivenFlags, OfTwoLinesAreApart) {
  const CommandLine first = Parse({"cook", "--solver=a", "--gpu=1"}),
                    second = Parse({"cook", "--solver=b"});
  EXPECT_EQ(first.flags.solver, "a");
  EXPECT_EQ(second.flags.solver, "b");
  EXPECT_EQ(second.flags.gpu, "");
}

TEST_F(GivenFlags, MissingOnesAreNamed) {
  EXPECT_EQ(Complaint({"cook"}), "'cook' needs --solver\ntry: doppio cook --help");
}

TEST_F(GivenFlags, AFileWithoutAFlagIsAskedFor) {
  EXPECT_EQ(Complaint({"cook", "net/s.prototxt"}),
            "'cook' takes no arguments, got 'net/s.prototxt'; did you mean "
            "--solver=net/s.prototxt?\n"
            "try: doppio cook --help");
}

TEST(Arguments, AreCountedAgainstTheUsageLine) {
  const auto fits = [](const std::string& usage, size_t count) {
    try {
      CheckArguments("tell", usage, count);
      return true;
    } catch (const UsageError& e) {
      EXPECT_EQ(std::string(e.what()), "'tell' needs " + (usage.empty() ? "no arguments" : usage) +
                                           "\ntry: doppio tell --help");
      return false;
    }
  };
  const auto counts = [&](const std::string& usage) {
    std::string text;
    for (size_t count = 0; count < 6; ++count) text += fits(usage, count) ? '1' : '0';
    return text;
  };
  EXPECT_EQ(counts(""), "100000");
  EXPECT_EQ(counts("A|B C [D]"), "001100");
  EXPECT_EQ(counts("A [B|C [D]]"), "011100");
  EXPECT_EQ(counts("RUN..."), "011111");
  EXPECT_EQ(counts("[DIR] FILE..."), "011111");
  EXPECT_EQ(counts("[FILES...]"), "111111");
  EXPECT_EQ(counts("[-- FLAGS]"), "111111");
  EXPECT_EQ(counts("A -- B C"), "011111");
}

TEST_F(GivenFlags, UnknownCommandsAreAnsweredWithTheNearest) {
  EXPECT_EQ(Complaint({"cok", "--solver=s"}), "unknown command 'cok'; did you mean 'cook'?");
}

TEST_F(GivenFlags, UnknownCommandsUnlikeAnyOtherAreForHelp) {
  EXPECT_EQ(Complaint({"predict"}),
            "unknown command 'predict'; 'doppio help predict' searches for it");
}

TEST_F(GivenFlags, HelpNeverFailsForTheRestOfTheLine) {
  EXPECT_TRUE(Parse({"cook", "--help"}).help);
  EXPECT_TRUE(Parse({"cook", "-h"}).help);
  EXPECT_TRUE(Parse({"--version"}).version);
}

TEST_F(GivenFlags, ALinkNamedLikeACommandIsThatCommand) {
  EXPECT_EQ(ParseCommandLine({"/usr/bin/cook", "--solver=s"}).command_name, "cook");
  EXPECT_EQ(ParseCommandLine({"/usr/bin/caffe", "cook", "--solver=s"}).command_name, "cook");
  EXPECT_EQ(ParseCommandLine({"caffe"}).command, nullptr);
}

TEST_F(GivenFlags, ComeFromTheEnvironmentWhenNotGiven) {
  const ScopedVariable gpu("DOPPIO_GPU", "5"), solver("DOPPIO_SOLVER", "e");
  const CommandLine line = Parse({"cook", "--gpu=1"});
  EXPECT_EQ(line.flags.gpu, "1");
  EXPECT_EQ(line.flags.solver, "e");
  const ScopedVariable iterations("DOPPIO_ITERATIONS", "few");
  EXPECT_EQ(Complaint({"cook"}).substr(0, 46), "DOPPIO_ITERATIONS needs an integer; got 'few'\n");
}

TEST_F(GivenFlags, ComeFromGflagsVariablesOnRequestOnly) {
  ScopedVariable gpu("FLAGS_gpu", "6");
  EXPECT_EQ(Parse({"cook", "--solver=s"}).flags.gpu, "");
  EXPECT_EQ(Parse({"cook", "--solver=s", "--fromenv=gpu"}).flags.gpu, "6");
  gpu.Set(nullptr);
  EXPECT_EQ(Complaint({"cook", "--solver=s", "--fromenv=gpu"}),
            "--fromenv=gpu: FLAGS_gpu is not set in the environment");
  EXPECT_EQ(Parse({"cook", "--solver=s", "--tryfromenv=gpu"}).flags.gpu, "");
}

TEST_F(GivenFlags, ComeFromAFile) {
  const std::string path = testing::TempDir() + "/flags.txt";
  std::ofstream(path) << "\xef\xbb\xbf# our cluster\r\n--solver=from_file\n\n  -gpu=7  \n"
                         "--set=base_lr=2";
  const CommandLine line = Parse({"cook", "--flagfile=" + path});
  EXPECT_EQ(line.flags.solver, "from_file");
  EXPECT_EQ(line.flags.gpu, "7");
  EXPECT_EQ(line.flags.set, std::vector<std::string>{"base_lr=2"});
}

TEST_F(GivenFlags, OfTheLogLibraryAreTaken) {
  EXPECT_TRUE(
      Parse({"cook", "--solver=s", "-alsologtostderr=1", "--minloglevel=0"}).warnings.empty());
}

}  // namespace
}  // namespace doppio
