// Runs trainings as child processes, each on its own GPUs and cores. When this process ends for any
// reason, the system sends SIGTERM to the children, so a child outlives this process only for as
// long as its snapshot takes.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_WORKERS_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_WORKERS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace doppio {

// The resources of one child among several that run at the same time.
struct WorkerSlot {
  std::string gpus;        // the value of --gpu; "" for the CPU
  std::vector<int> cores;  // the cores to run on; empty: all
  int threads = 1;         // OMP_NUM_THREADS, unless the environment sets it
};

// Divides `cores` into disjoint shares for `children` children. If there are more children than
// cores, each child gets one thread on any core.
std::vector<WorkerSlot> CpuSlots(const std::vector<int>& cores, int children);
// Returns slots with `gpus_each` of the GPUs each, and as many slots as the GPUs suffice for. The
// cores are divided as in CpuSlots.
std::vector<WorkerSlot> GpuSlots(const std::vector<int>& cores, const std::vector<int>& gpus,
                                 int gpus_each);
// Returns the cores that this process was allowed to use when it started.
std::vector<int> AllCores();

struct WorkerCommand {
  std::vector<std::string> arguments;  // the first is the absolute path of the program
  std::string cwd;
  std::string log;  // the file that standard output and error are appended to
};

// Starts, polls and stops the children. Not thread-safe.
class Workers {
 public:
  // Each slot runs at most one child at a time.
  explicit Workers(std::vector<WorkerSlot> slots);

  const std::vector<WorkerSlot>& slots() const { return slots_; }
  // Returns the first free slot, or -1 if all are in use.
  int FreeSlot() const;
  // Returns true if no child is running.
  bool Idle() const;
  // Starts a child in a free slot. Throws FileError if the process cannot be started or the log
  // cannot be opened.
  void Start(int slot, const WorkerCommand& command);

  struct Ended {
    int slot = 0;
    int code = 0;  // exit code; 128 + N for signal N
  };
  // Returns the children that have ended since the last call. Does not block.
  std::vector<Ended> Poll();
  // Asks a child to write a snapshot and end. Sends SIGUSR1: a batch system may already have sent
  // SIGTERM, and a second SIGTERM would end the child without a snapshot.
  void Stop(int slot);
  // Calls Stop() for all children.
  void StopAll();

 private:
  std::vector<WorkerSlot> slots_;
  std::vector<pid_t> children_;  // process IDs; 0 for a free slot
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_WORKERS_H_
