#include "parallel/world/launcher.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/error.h"

namespace doppio {
namespace {

Launch Find(const std::map<std::string, std::string>& variables) {
  return FindLaunch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
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

TEST(Launcher, ThatContradictsItselfIsAMistake) {
  EXPECT_THROW(Find({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}), UsageError);
  EXPECT_THROW(Find({{"PMI_RANK", "one"}, {"PMI_SIZE", "2"}}), UsageError);
}

}  // namespace
}  // namespace doppio
