#include "parallel/world/launcher.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/error.h"
#include "parallel/world/slurm_step.h"

namespace doppio {
namespace {

Launch Find(const std::map<std::string, std::string>& variables,
            const std::string& launcher = "auto") {
  return FindLaunch(
      [&](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      launcher);
}

TEST(Launcher, IsUnknownWithoutVariables) {
  const Launch launch = Find({{"HOME", "/root"}});
  EXPECT_EQ(launch.launcher, "");
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.size, 1);
}

TEST(Launcher, IsKnownByItsVariables) {
  const Launch open_mpi = Find({{"OMPI_COMM_WORLD_RANK", "5"},
                                {"OMPI_COMM_WORLD_SIZE", "8"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  EXPECT_EQ(open_mpi.launcher, "mpirun (Open MPI)");
  EXPECT_EQ(open_mpi.rank, 5);
  EXPECT_EQ(open_mpi.size, 8);
  EXPECT_EQ(open_mpi.local_rank, 1);
  EXPECT_EQ(open_mpi.local_size, 4);
  EXPECT_TRUE(open_mpi.mpi);
  EXPECT_EQ(Find({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}).launcher, "mpiexec (MPICH, Intel MPI)");
  EXPECT_EQ(Find({{"JSM_NAMESPACE_RANK", "1"}, {"JSM_NAMESPACE_SIZE", "2"}}).launcher,
            "jsrun (LSF)");
  const Launch slurm =
      Find({{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_LOCALID", "1"}});
  EXPECT_EQ(slurm.launcher, "srun (SLURM)");
  EXPECT_EQ(slurm.rank, 3);
  EXPECT_EQ(slurm.local_rank, 1);
  const Launch torch =
      Find({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}});
  EXPECT_EQ(torch.size, 2);
  EXPECT_FALSE(torch.mpi);
}

// A job script itself runs as one process: the variables of the job are not those of a step.
TEST(Launcher, OfASlurmJobIsAskedByStep) {
  EXPECT_EQ(Find({{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}).size, 1);
}

// srun --mpi=pmi2 sets only some of these variables. Unless it is recognised, all ranks of a
// machine use the machine's first GPU.
TEST(Launcher, ThatSetsOnlyHalfOfMpichsVariablesIsSrun) {
  const Launch launch = Find({{"PMI_RANK", "3"},
                              {"PMI_SIZE", "4"},
                              {"SLURM_PROCID", "3"},
                              {"SLURM_STEP_NUM_TASKS", "4"},
                              {"SLURM_LOCALID", "1"}});
  EXPECT_EQ(launch.launcher, "srun (SLURM)");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_FALSE(launch.local_size_known);
  // MPICH's own launcher inside a job, on one machine: it runs as one task of srun and starts all
  // ranks.
  const Launch mpiexec = Find({{"PMI_RANK", "3"},
                               {"PMI_SIZE", "4"},
                               {"MPI_LOCALRANKID", "3"},
                               {"MPI_LOCALNRANKS", "4"},
                               {"SLURM_PROCID", "0"},
                               {"SLURM_STEP_NUM_TASKS", "1"},
                               {"SLURM_LOCALID", "0"}});
  EXPECT_EQ(mpiexec.launcher, "mpiexec (MPICH, Intel MPI)");
  EXPECT_EQ(mpiexec.local_rank, 3);
  EXPECT_TRUE(mpiexec.local_size_known);
}

TEST(Launcher, InsideAJobIsTheInnerOne) {
  EXPECT_EQ(Find({{"SLURM_PROCID", "0"},
                  {"SLURM_STEP_NUM_TASKS", "1"},
                  {"OMPI_COMM_WORLD_RANK", "2"},
                  {"OMPI_COMM_WORLD_SIZE", "3"}})
                .rank,
            2);
}

TEST(Launcher, ThatNamesRankZeroNeedsNoMpi) {
  const Launch launch = Find(
      {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}});
  EXPECT_EQ(launch.launcher, "a launcher");
  EXPECT_EQ(launch.address, "node1");
  EXPECT_EQ(launch.port, 29500);
  EXPECT_EQ(launch.job, "");
  EXPECT_FALSE(launch.mpi);
}

TEST(Launcher, TorchrunKeepsItsPortForItself) {
  const Launch launch = Find({{"RANK", "1"},
                              {"WORLD_SIZE", "2"},
                              {"MASTER_ADDR", "node1"},
                              {"MASTER_PORT", "29500"},
                              {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                              {"TORCHELASTIC_RUN_ID", "run7"},
                              {"TORCHELASTIC_RESTART_COUNT", "0"}});
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.port, 29501);
  EXPECT_EQ(launch.job, "torchrun run7 restart 0");
}

TEST(Launcher, SrunMeetsAtTheFirstNodeOfTheStep) {
  const std::map<std::string, std::string> srun = {{"SLURM_PROCID", "1"},
                                                   {"SLURM_STEP_NUM_TASKS", "2"},
                                                   {"SLURM_JOB_ID", "4711"},
                                                   {"SLURM_STEP_ID", "3"},
                                                   {"PMIX_RANK", "1"},
                                                   {"RANK", "0"},
                                                   {"WORLD_SIZE", "1"},
                                                   {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.9"},
                                                   {"SLURM_STEP_NODELIST", "node[03-07,9],gpu1"}};
  const Launch launch = Find(srun);
  EXPECT_TRUE(launch.mpi);
  EXPECT_EQ(launch.address, "node03");
  EXPECT_EQ(launch.port, 16044);  // 10000 + (4711 * 31 + 3) % 20000
  EXPECT_EQ(launch.job, "SLURM job 4711 step 3");
  EXPECT_FALSE(Find(srun, "slurm").mpi);
  EXPECT_EQ(Find(srun, "slurm").size, 2);
  EXPECT_EQ(Find(srun, "env").size, 1);
  EXPECT_EQ(FirstHost("n1,n2"), "n1");
  EXPECT_EQ(FirstHost("rack[1-2]node[3-4]"), "rack1node3");
}

TEST(Launcher, SrunWithoutPmiNeedsNoMpi) {
  std::map<std::string, std::string> srun = {{"SLURM_PROCID", "1"},
                                             {"SLURM_STEP_NUM_TASKS", "2"},
                                             {"SLURM_JOB_ID", "4711"},
                                             {"SLURM_STEP_NODELIST", "node1"}};
  EXPECT_FALSE(Find(srun).mpi);
  EXPECT_EQ(Find(srun).address, "node1");
  EXPECT_TRUE(Find(srun, "mpi").mpi);
  srun["PMI_FD"] = "15";  // srun --mpi=pmi2
  EXPECT_TRUE(Find(srun).mpi);
}

TEST(Launcher, CanBeSelected) {
  const std::map<std::string, std::string> both = {{"OMPI_COMM_WORLD_RANK", "2"},
                                                   {"OMPI_COMM_WORLD_SIZE", "3"},
                                                   {"RANK", "1"},
                                                   {"WORLD_SIZE", "2"}};
  EXPECT_EQ(Find(both).size, 3);
  EXPECT_EQ(Find(both, "mpi").size, 3);
  EXPECT_EQ(Find(both, "env").size, 2);
  EXPECT_EQ(Find({{"RANK", "1"}, {"WORLD_SIZE", "2"}}, "mpi").size, 1);
  EXPECT_THROW(Find({}, "env"), UsageError);
  EXPECT_THROW(Find(both, "slurm"), UsageError);
}

TEST(Launcher, ThatContradictsItselfIsAMistake) {
  EXPECT_THROW(Find({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}), UsageError);
  for (const char* port : {"0", "65536", "x"}) {
    EXPECT_THROW(
        Find({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", port}}),
        UsageError);
  }
  EXPECT_THROW(Find({{"PMI_RANK", "one"}, {"PMI_SIZE", "2"}}), UsageError);
}

}  // namespace
}  // namespace doppio
