#include "tools/cluster/job_script.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

// Returns options in which everything is set.
JobOptions Full(BatchSystem system) {
  JobOptions options;
  options.system = system;
  options.name = "resnet";
  options.nodes = 2;
  options.ranks_per_node = 4;
  options.gpus_per_node = 4;
  options.cpus_per_rank = 8;
  options.seconds = 48 * 3600 + 90;
  options.warn_seconds = 150;
  options.queue = "gpu";
  options.account = "p123";
  options.command = {"/opt/doppio", "train", "--solver=it's.prototxt", "--resume=auto"};
  return options;
}

TEST(JobScript, IsWrittenForSlurm) {
  EXPECT_EQ(JobScript(Full(BatchSystem::kSlurm)), R"sh(#!/bin/bash
#SBATCH --job-name=resnet
#SBATCH --partition=gpu
#SBATCH --account=p123
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=4
#SBATCH --time=48:01:30
#SBATCH --signal=USR1@150
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log

# USR1 goes to the ranks, not to this shell. Ranks end each other by themselves (exit code 8); a rank that has
# stopped must not have the others killed while they finish their snapshot, but one that hangs must not keep the
# nodes to the time limit.
srun --mpi=pmix --kill-on-bad-exit=0 --wait=150 --cpus-per-task=8 /opt/doppio train '--solver=it'\''s.prototxt' --resume=auto
code=$?
if [ "$code" -eq 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 100 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
)sh");
}

TEST(JobScript, IsWrittenForPbs) {
  EXPECT_EQ(JobScript(Full(BatchSystem::kPbs)), R"sh(#!/bin/bash
#PBS -N resnet
#PBS -q gpu
#PBS -A p123
#PBS -l select=2:ncpus=32:mpiprocs=4:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=48:01:30
#PBS -j oe
#PBS -r y

cd "$PBS_O_WORKDIR" || exit 4
# qdel ends mpirun by SIGTERM. Without this, Open MPI's kills the ranks 2 s later, in the middle of a snapshot.
export OMPI_MCA_odls_base_sigkill_timeout=15
# PBS itself warns only seconds before it kills, so timeout sends USR1; mpirun hands it to the ranks.
timeout --foreground --preserve-status --signal=USR1 172740 \
  mpirun -n 8 --hostfile "$PBS_NODEFILE" --map-by ppr:4:node:PE=8 /opt/doppio train '--solver=it'\''s.prototxt' --resume=auto
code=$?
runs=${DOPPIO_JOB_RUNS:-1}
if [ "$code" -eq 75 ] && [ "$runs" -le 100 ]; then
  qsub -v "DOPPIO_JOB_RUNS=$((runs + 1))" "$0"
fi
exit "$code"
)sh");
}

TEST(JobScript, IsWrittenForLsfInMinutes) {
  EXPECT_EQ(JobScript(Full(BatchSystem::kLsf)), R"sh(#!/bin/bash
#BSUB -J resnet
#BSUB -q gpu
#BSUB -P p123
#BSUB -nnodes 2
#BSUB -W 48:02
#BSUB -wa USR1
#BSUB -wt 3
#BSUB -Q "75"
#BSUB -r
#BSUB -o resnet-%J.log

cd "$LS_SUBCWD" || exit 4
# LSF sends USR1 to this shell, too, which is to live on and to hand over the exit code that -Q asks for.
trap : USR1
# One resource set a node: its ranks see all its GPUs.
jsrun --nrs=2 --rs_per_host=1 --tasks_per_rs=4 --cpu_per_rs=32 --bind=packed:8 --gpu_per_rs=4 /opt/doppio train '--solver=it'\''s.prototxt' --resume=auto
exit "$?"
)sh");
}

JobOptions WithoutMpi(BatchSystem system) {
  JobOptions options = Full(system);
  options.mpi = false;
  return options;
}

TEST(JobScript, StartsRanksWithoutMpiOnSlurm) {
  const std::string script = JobScript(WithoutMpi(BatchSystem::kSlurm));
  EXPECT_NE(script.find("\nDOPPIO_JOB_SECRET=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')\n"
                        "export DOPPIO_JOB_SECRET\n"
                        "srun --mpi=none --kill-on-bad-exit=0 --wait=150 --cpus-per-task=8 "
                        "/opt/doppio train "),
            std::string::npos)
      << script;
}

TEST(JobScript, LaunchesRanksWithoutMpiOnPbs) {
  const std::string script = JobScript(WithoutMpi(BatchSystem::kPbs));
  EXPECT_NE(script.find("; launch hands it to the ranks.\n"
                        "timeout --foreground --preserve-status --signal=USR1 172740 \\\n"
                        "  /opt/doppio launch --hostfile=\"$PBS_NODEFILE\" -- train "
                        "'--solver=it'\\''s.prototxt' --resume=auto\n"),
            std::string::npos)
      << script;
  EXPECT_EQ(script.find("OMPI_"), std::string::npos) << script;
}

TEST(JobScript, LaunchesRanksWithoutMpiOnLsf) {
  const std::string script = JobScript(WithoutMpi(BatchSystem::kLsf));
  for (const char* line : {"#BSUB -n 8", "#BSUB -R \"span[ptile=4]\"",
                           "#BSUB -R \"affinity[core(8)]\"", "#BSUB -gpu \"num=4/host\"",
                           ("/opt/doppio launch --rsh=blaunch --hostfile=\"$LSB_DJOB_HOSTFILE\" -- "
                            "train '--solver=it'\\''s.prototxt' --resume=auto")})
    EXPECT_NE(script.find("\n" + std::string(line) + "\n"), std::string::npos) << script;
  EXPECT_EQ(script.find("-nnodes"), std::string::npos) << script;
}

JobOptions OfSite(BatchSystem system, const std::string& image) {
  JobOptions options = Full(system);
  options.site.directives = {"--comment=caffe", "-M \"a b\""};
  options.site.setup = {"module load cuda", "export X='1 2'"};
  options.site.image = image;
  return options;
}

TEST(JobScript, HasTheLinesOfTheSite) {
  const std::string setup = "\nmodule load cuda\nexport X='1 2'\n";
  for (const auto& [system, mark] : {std::pair(BatchSystem::kSlurm, "#SBATCH"),
                                     {BatchSystem::kPbs, "#PBS"},
                                     {BatchSystem::kLsf, "#BSUB"}}) {
    const std::string script = JobScript(OfSite(system, ""));
    const std::string head =
        std::string("\n") + mark + " --comment=caffe\n" + mark + " -M \"a b\"\n\n";
    EXPECT_NE(script.find(head), std::string::npos) << script;
    const size_t at = script.find(setup);
    EXPECT_LT(script.find(head), at) << script;
    EXPECT_LT(at, script.find("/opt/doppio train")) << script;
    EXPECT_EQ(script.find("apptainer"), std::string::npos) << script;
  }
}

TEST(JobScript, RunsRanksInContainersOfApptainer) {
  for (const BatchSystem system : {BatchSystem::kSlurm, BatchSystem::kPbs, BatchSystem::kLsf}) {
    const std::string script = JobScript(OfSite(system, "/images/my doppio.sif"));
    EXPECT_NE(
        script.find("\napptainer=$(command -v apptainer || command -v singularity) || exit 4\n"),
        std::string::npos)
        << script;
    EXPECT_NE(script.find(" \"$apptainer\" exec --nv '/images/my doppio.sif' /opt/doppio train "),
              std::string::npos)
        << script;
  }
  JobOptions cpu = OfSite(BatchSystem::kSlurm, "docker://doppio");
  cpu.gpus_per_node = 0;
  EXPECT_NE(JobScript(cpu).find(" \"$apptainer\" exec docker://doppio /opt/doppio train "),
            std::string::npos);
}

TEST(JobScript, RunsRanksInContainersOfPyxis) {
  const std::string script = JobScript(OfSite(BatchSystem::kSlurm, "registry#doppio:cuda"));
  EXPECT_NE(
      script.find(" --container-image='registry#doppio:cuda' --container-mounts=\"$PWD:$PWD\" "
                  "--container-workdir=\"$PWD\" /opt/doppio train "),
      std::string::npos)
      << script;
  EXPECT_EQ(script.find("apptainer"), std::string::npos) << script;
}

TEST(JobScript, AsksForGpusByGres) {
  JobOptions options = Full(BatchSystem::kSlurm);
  options.site.gres = "gpu:v100:4,nvme:1";
  std::string script = JobScript(options);
  EXPECT_NE(script.find("\n#SBATCH --gres=gpu:v100:4,nvme:1\n"), std::string::npos) << script;
  EXPECT_EQ(script.find("--gpus-per-node"), std::string::npos) << script;
  options.site.gres = "nvme:1";
  script = JobScript(options);
  EXPECT_NE(script.find("\n#SBATCH --gres=nvme:1\n#SBATCH --gpus-per-node=4\n"), std::string::npos)
      << script;
}

JobOptions Array(BatchSystem system) {
  JobOptions options;
  options.system = system;
  options.name = "sweep";
  options.tasks = 12;
  options.gpus_per_node = 2;
  options.cpus_per_rank = 8;
  options.seconds = 3600;
  options.command = {"/opt/doppio", "sweep", "trial", "/runs/my sweep"};
  return options;
}

TEST(JobScript, IsWrittenAsAnArrayForSlurm) {
  EXPECT_EQ(JobScript(Array(BatchSystem::kSlurm)), R"sh(#!/bin/bash
#SBATCH --job-name=sweep
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=2
#SBATCH --time=01:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --array=0-11
#SBATCH --output=%x-%A_%a.log

# USR1 goes to the ranks, not to this shell. Ranks end each other by themselves (exit code 8); a rank that has
# stopped must not have the others killed while they finish their snapshot, but one that hangs must not keep the
# nodes to the time limit.
srun --kill-on-bad-exit=0 --wait=120 --cpus-per-task=8 /opt/doppio sweep trial '/runs/my sweep' "$SLURM_ARRAY_TASK_ID"
code=$?
if [ "$code" -eq 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 100 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
)sh");
}

TEST(JobScript, IsWrittenAsAnArrayForPbsThatRequeuesTaskByTask) {
  EXPECT_EQ(JobScript(Array(BatchSystem::kPbs)), R"sh(#!/bin/bash
#PBS -N sweep
#PBS -l select=1:ncpus=8:mpiprocs=1:ngpus=2
#PBS -l place=scatter
#PBS -J 0-11
#PBS -l walltime=01:00:00
#PBS -j oe
#PBS -r y

cd "$PBS_O_WORKDIR" || exit 4
task=${DOPPIO_JOB_TASK:-${PBS_ARRAY_INDEX:-0}}
# PBS itself warns only seconds before it kills, so timeout sends USR1; mpirun hands it to the ranks.
timeout --foreground --preserve-status --signal=USR1 3480 /opt/doppio sweep trial '/runs/my sweep' "$task"
code=$?
runs=${DOPPIO_JOB_RUNS:-1}
if [ "$code" -eq 75 ] && [ "$runs" -le 100 ]; then
  grep -v '^#PBS -J' "$0" | qsub -v "DOPPIO_JOB_TASK=$task,DOPPIO_JOB_RUNS=$((runs + 1))"
fi
exit "$code"
)sh");
}

TEST(JobScript, IsWrittenAsAnArrayForLsfFromOne) {
  EXPECT_EQ(JobScript(Array(BatchSystem::kLsf)), R"sh(#!/bin/bash
#BSUB -J "sweep[1-12]"
#BSUB -n 8
#BSUB -R "span[hosts=1]"
#BSUB -gpu "num=2"
#BSUB -W 01:00
#BSUB -wa USR1
#BSUB -wt 2
#BSUB -Q "75"
#BSUB -r
#BSUB -o sweep-%J_%I.log

cd "$LS_SUBCWD" || exit 4
# LSF sends USR1 to this shell, too, which is to live on and to hand over the exit code that -Q asks for.
trap : USR1
/opt/doppio sweep trial '/runs/my sweep' "$((LSB_JOBINDEX - 1))"
exit "$?"
)sh");
}

TEST(JobScript, LeavesOutWhatIsNotAskedFor) {
  for (BatchSystem system : {BatchSystem::kSlurm, BatchSystem::kPbs, BatchSystem::kLsf}) {
    JobOptions options;
    options.system = system;
    options.seconds = 3600;
    options.command = {"doppio"};
    const std::string script = JobScript(options);
    for (const char* word :
         {"gpu", "partition", "account", "-q ", "-A ", "-P ", "cpus-per-task", "PE=", "packed"}) {
      EXPECT_EQ(script.find(word), std::string::npos) << word << " in\n" << script;
    }
  }
}

TEST(SecondsOf, ReadsHoursAndMinutes) {
  EXPECT_EQ(SecondsOf("48:00:00"), 48 * 3600);
  EXPECT_EQ(SecondsOf("1:30"), 5400);
  EXPECT_EQ(SecondsOf("00:00:09"), 9);
  for (const char* wrong : {"", "90", "1:60", "1:00:60", "1:2:3:4", "-1:00", "1: 30", "0:00", "1h",
                            "1:00:00x", ":30", "1:", "12345678:00"}) {
    EXPECT_EQ(SecondsOf(wrong), -1) << wrong;
  }
}

TEST(SecondsOf, ReadsDaysAsSlurmDoes) {
  EXPECT_EQ(SecondsOf("1-00:00:00"), 86400);
  EXPECT_EQ(SecondsOf("2-12"), 60 * 3600);
  EXPECT_EQ(SecondsOf("0-01:30"), 5400);
  EXPECT_EQ(SecondsOf("1-02:03:04"), 26 * 3600 + 3 * 60 + 4);
  for (const char* wrong : {"1-", "-12", "1-24", "1-0:60", "1:1-0", "1-2-3", "0-0", "1-2:3:4:5"}) {
    EXPECT_EQ(SecondsOf(wrong), -1) << wrong;
  }
}

}  // namespace
}  // namespace doppio
