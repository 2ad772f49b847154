// Tests which MPI is opened, and the messages if none can be. BUILD makes a stand-in library
// (fake_mpi.cc) for each interface.
#include "parallel/mpi/mpi_search.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/base/error.h"
#include "core/tensor/half.h"
#include "parallel/mpi/mpi_library.h"
#include "parallel/world/process_world.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::TempDir;

std::string Fake(const std::string& name) {
  return std::filesystem::absolute("tests/parallel/libfake_" + name + ".so");
}

MpiSearch SearchIn(const std::map<std::string, std::string>& variables,
                   const std::string& given = "") {
  return MpiSearchFor(given, [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

MpiSearch SearchFor(const std::vector<std::string>& files) {
  MpiSearch search;
  search.files = files;
  return search;
}

MpiSearch Given(const std::string& file) { return SearchIn({}, file); }

std::string OpenMistake(const MpiSearch& search) {
  return Mistake<UsageError>([&] { OpenMpi(search); });
}

// Makes a folder with bin/mpirun and a copy of `from`. It is a copy, because the loader keeps the
// first name of a file that it has already opened.
std::string Installation(const std::string& name, const std::string& library,
                         const std::string& from) {
  const std::filesystem::path root = std::filesystem::path(TempDir()) / name;
  std::filesystem::create_directories(root / "bin");
  std::filesystem::create_directories((root / library).parent_path());
  std::ofstream(root / "bin/mpirun") << "#!/bin/sh\n";
  chmod((root / "bin/mpirun").c_str(), 0755);
  std::filesystem::copy_file(from, root / library,
                             std::filesystem::copy_options::overwrite_existing);
  return root;
}

TEST(MpiSearch, TriesTheMpiOfTheLauncherFirst) {
  const std::vector<std::string> open_mpi_first = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12",
                                                   "libmpi_cray.so.12", "libmpi_abi.so.1"};
  EXPECT_EQ(SearchIn({}).files, open_mpi_first);
  EXPECT_EQ(SearchIn({{"OMPI_COMM_WORLD_RANK", "3"}}).files, open_mpi_first);
  EXPECT_EQ(SearchIn({{"SLURM_PROCID", "3"}, {"PMIX_RANK", "3"}}).files, open_mpi_first);
  // Open MPI's mpirun runs inside a job whose launcher belongs to MPICH.
  EXPECT_EQ(SearchIn({{"OMPI_COMM_WORLD_RANK", "3"}, {"PMI_RANK", "0"}}).files, open_mpi_first);
  EXPECT_EQ(SearchIn({{"PMI_RANK", "3"}}).files,
            (std::vector<std::string>{"libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12",
                                      "libmpi_abi.so.1", "libmpi.so.40"}));
}

TEST(MpiSearch, LooksBesideTheFirstLauncherOfThePath) {
  const std::string first = Installation("first", "lib64/libfake.so.1", Fake("open_mpi"));
  const std::string second = Installation("second", "lib/libfake.so.1", Fake("mpich"));
  MpiSearch search = SearchIn({{"PATH", "/nowhere::" + first + "/bin:" + second + "/bin"}});
  EXPECT_EQ(search.folders, (std::vector<std::string>{first + "/lib", first + "/lib64"}));
  search.files = {"libfake.so.1"};
  EXPECT_EQ(OpenMpi(search)->name(), "Open MPI v9.8.7");
  EXPECT_EQ(OpenMpi(search)->path(), first + "/lib64/libfake.so.1");
  EXPECT_TRUE(SearchIn({{"PATH", "/nowhere"}}).folders.empty());
}

TEST(MpiSearch, SaysWhatItLookedForAndWhatToDo) {
  EXPECT_EQ(OpenMistake(SearchFor({"libno_such_mpi.so.40", "libno_such_mpi.so.12"})),
            "no MPI library can be opened; Doppio has looked for libno_such_mpi.so.40, "
            "libno_such_mpi.so.12. "
            "Install an MPI (Debian's package openmpi-bin), load the cluster's MPI module, or name "
            "a library with --mpi_library or DOPPIO_MPI_LIBRARY");
}

TEST(MpiSearch, SaysWhyALibraryThatIsThereIsNotUsed) {
  const std::string broken = TempDir() + "/libbroken.so";
  std::ofstream(broken) << "not a library";
  const std::string message =
      OpenMistake(SearchFor({broken, Fake("unknown"), "libno_such_mpi.so"}));
  EXPECT_NE(message.find("; " + broken + ": "), std::string::npos) << message;
  EXPECT_NE(message.find("; " + Fake("unknown") + " is \"LAM/MPI 7.1.4\", which has an unknown"),
            std::string::npos)
      << message;
  EXPECT_EQ(message.find("; libno_such_mpi.so"), std::string::npos) << message;
}

TEST(MpiSearch, GoesOnToTheNextLibrary) {
  EXPECT_EQ(OpenMpi(SearchFor({"libno_such_mpi.so", Fake("unknown"), Fake("mpich")}))->name(),
            "MPICH 9.8.7");
}

TEST(MpiSearch, TriesNothingElseThanWhatIsGiven) {
  MpiSearch search = Given("/nowhere/libmpi.so");
  search.files = {Fake("open_mpi")};
  EXPECT_EQ(OpenMistake(search),
            "--mpi_library=/nowhere/libmpi.so: /nowhere/libmpi.so: cannot open shared object file: "
            "No such file or directory");
}

TEST(MpiSearch, RefusesWhatIsNoMpi) {
  const std::string message = OpenMistake(Given("libm.so.6"));
  EXPECT_EQ(message.rfind("--mpi_library=libm.so.6: /", 0), 0u) << message;
  EXPECT_NE(message.find("is not an MPI library of version 3 or later: it has no function "
                         "MPI_Get_library_version"),
            std::string::npos)
      << message;
}

TEST(MpiSearch, RefusesAnInterfaceThatIsUnknown) {
  EXPECT_EQ(OpenMistake(Given(Fake("unknown"))),
            "--mpi_library=" + Fake("unknown") + ": " + Fake("unknown") +
                " is \"LAM/MPI 7.1.4\", which has an unknown binary interface; Doppio supports "
                "those of Open MPI, of MPICH (Intel MPI, MVAPICH, Cray MPICH) and of the MPI 5 "
                "standard");
}

TEST(MpiSearch, RefusesALibraryWithoutNonblockingSums) {
  EXPECT_EQ(OpenMistake(Given(Fake("old"))),
            "--mpi_library=" + Fake("old") + ": Open MPI v1.6.5 (" + Fake("old") +
                ") has no MPI_Iallreduce; Doppio needs an MPI of version 3 or later");
}

class MpiInterface : public testing::TestWithParam<const char*> {
 protected:
  MpiInterface() : mpi_(OpenMpi(Given(Fake(GetParam())))) {}
  void TearDown() override {
    unsetenv("FAKE_MPI_WITHOUT_THREADS");
    unsetenv("FAKE_MPI_WITHOUT_DUP");
  }
  int finalized() const {
    return *static_cast<int*>(MpiLibrary(Fake(GetParam())).Find("g_fake_mpi_finalized"));
  }
  const std::unique_ptr<MpiApi> mpi_;
  const MpiCommunicators& communicators_ = mpi_->communicators();
  const MpiExchanges& exchanges_ = mpi_->exchanges();
};

void Quadruple(void*, void* in_out, int* count, void*) {
  for (int i = 0; i < *count; ++i) static_cast<uint16_t*>(in_out)[i] *= 4;
}

TEST_P(MpiInterface, HasItsHandlesAndConstants) {
  mpi_->Initialize();
  EXPECT_EQ(communicators_.Rank(communicators_.World()), 0);
  EXPECT_EQ(communicators_.Size(communicators_.World()), 1);
  const MpiComm comm = communicators_.Duplicate(communicators_.World());
  EXPECT_NE(comm, communicators_.World());
  communicators_.Free(communicators_.Split(comm, 5, 0));
  communicators_.Split(comm, MpiCommunicators::kNoColor, 0);
  communicators_.Free(communicators_.SplitByMachine(comm, 0));

  float floats[] = {1.5f, -2};
  MpiRequest request =
      exchanges_.StartAllReduce(floats, 2, DType::kFloat32, exchanges_.Sum(), comm);
  EXPECT_TRUE(exchanges_.Test(&request));
  EXPECT_EQ(floats[0], 3);
  EXPECT_EQ(floats[1], -4);
  double number = 2.5;
  request = exchanges_.StartAllReduce(&number, 1, DType::kFloat64, exchanges_.Sum(), comm);
  EXPECT_TRUE(exchanges_.Test(&request));
  EXPECT_EQ(number, 5);
  uint16_t shorts[] = {1, 2, 3};
  request =
      exchanges_.StartAllReduce(shorts, 3, DType::kFloat16, exchanges_.MakeOp(&Quadruple), comm);
  EXPECT_TRUE(exchanges_.Test(&request));
  EXPECT_EQ(shorts[2], 12);

  // One element, from place 1 to place 0.
  const int count = 1, zero = 0, one = 1;
  request =
      exchanges_.StartAllToAll(floats, &count, &one, floats, &count, &zero, DType::kFloat32, comm);
  EXPECT_TRUE(exchanges_.Test(&request));
  EXPECT_EQ(floats[0], -4);
  // The stand-in adds the count to the element at the place.
  request = exchanges_.StartAllGather(floats, &count, &one, DType::kFloat32, comm);
  EXPECT_TRUE(exchanges_.Test(&request));
  EXPECT_EQ(floats[1], -3);

  request = exchanges_.StartBroadcast(shorts, sizeof shorts, 0, comm);
  EXPECT_TRUE(exchanges_.Test(&request));
  request = exchanges_.StartBarrier(comm);
  EXPECT_TRUE(exchanges_.Test(&request));
  int64_t from = 7, to = 0;
  exchanges_.AllGather(&from, sizeof from, &to, comm);
  EXPECT_EQ(to, 7);
  communicators_.Free(comm);
}

TEST_P(MpiInterface, IsRefusedWithoutThreads) {
  setenv("FAKE_MPI_WITHOUT_THREADS", "1", 1);
  const int before = finalized();
  EXPECT_EQ(Mistake<UsageError>([&] { mpi_->Initialize(); }),
            mpi_->name() + " (" + mpi_->path() +
                ") does not support communication by several threads (MPI_THREAD_MULTIPLE), which "
                "Doppio needs; use another MPI library, or one that was built with thread support");
  EXPECT_EQ(finalized(), before + 1);
}

TEST_P(MpiInterface, GivesItsOwnReasonWhenACallFails) {
  setenv("FAKE_MPI_WITHOUT_DUP", "1", 1);
  EXPECT_EQ(Mistake<PeerError>([&] { communicators_.Duplicate(communicators_.World()); }),
            "MPI_Comm_dup failed: fake error 17");
}

INSTANTIATE_TEST_SUITE_P(Of, MpiInterface, testing::Values("open_mpi", "mpich", "mpi_5"),
                         [](const auto& info) { return std::string(info.param); });

class MpiWorldTest : public testing::Test {
 protected:
  void SetUp() override { unsetenv("OMPI_COMM_WORLD_SIZE"); }
  void TearDown() override {
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("FAKE_MPI_HANGS");
  }
  static const ProcessWorldKind& Kind() { return *ProcessWorlds::Get().Find("mpi"); }
  static ProcessWorldOptions With(const std::string& fake) {
    ProcessWorldOptions options;
    options.library = Fake(fake);
    return options;
  }
};

TEST_F(MpiWorldTest, NamesTheLibrary) {
  EXPECT_EQ(Kind().describe(With("open_mpi")), "Open MPI v9.8.7 (" + Fake("open_mpi") + ")");
  EXPECT_EQ(Kind().describe(With("mpi_5")), "MPICH 9.8.7 (" + Fake("mpi_5") + ")");
}

TEST_F(MpiWorldTest, RefusesToBeJoinedAlone) {
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  EXPECT_EQ(Mistake<UsageError>([&] { Kind().make(With("mpich")); }),
            "mpirun (Open MPI) has started 8 processes, but MPI joins only 1 of them. The opened "
            "MPI library is MPICH 9.8.7 (" +
                Fake("mpich") +
                "). With srun, try --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH, Intel MPI). If the "
                "launcher belongs to another MPI, name that MPI's library with --mpi_library or "
                "DOPPIO_MPI_LIBRARY");
}

// As MPICH's over UCX may do. A stall would be reported after 0.4 s.
TEST_F(MpiWorldTest, DoesNotWaitForALibraryThatDoesNotEnd) {
  setenv("FAKE_MPI_HANGS", "1", 1);
  auto* const released =
      static_cast<volatile int*>(MpiLibrary(Fake("mpich")).Find("g_fake_mpi_released"));
  int lost = 0, endless = 0;
  ProcessWorldOptions options = With("mpich");
  options.watch.beat_seconds = 0.05;
  options.watch.stall_seconds = 0.2;
  options.watch.end_seconds = 1;
  options.watch.on_lost = [&](const WatchOptions::Loss&) {
    ++lost;
    *released = 1;
  };
  options.watch.on_endless = [&] {
    ++endless;
    *released = 1;
  };
  Kind().make(options).reset();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(endless, 1);
}

TEST_F(MpiWorldTest, SumsInSixteenBits) {
  const std::unique_ptr<ProcessWorld> world = Kind().make(With("mpich"));
  EXPECT_EQ(world->size(), 1);
  // The stand-in doubles the data, like a sum over two equal ranks.
  Half numbers[] = {Half(1.5f), Half(-3.0f)};
  world->bulk().AllReduce(numbers, 2, DType::kFloat16);
  EXPECT_EQ(static_cast<float>(numbers[0]), 3);
  EXPECT_EQ(static_cast<float>(numbers[1]), -6);
  BFloat16 others[] = {BFloat16(0.25f)};
  world->bulk().AllReduce(others, 1, DType::kBFloat16);
  EXPECT_EQ(static_cast<float>(others[0]), 0.5f);
}

}  // namespace
}  // namespace doppio
