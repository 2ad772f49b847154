// Trainings as child processes, side by side, each on its own GPUs and cores. A child never
// outlives this process for longer than its snapshot takes: the system sends it SIGTERM when this
// process ends, however that comes.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_WORKERS_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_WORKERS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace doppio {

// What one of several children that run at once may use.
struct WorkerSlot {
  std::string gpus;        // for --gpu; "": the CPU
  std::vector<int> cores;  // empty: all
  int threads = 1;         // OMP_NUM_THREADS, unless the environment has it
};

// Shares of `cores` for so many children: disjoint ones, or, where there are more children than
// cores, one thread on any.
std::vector<WorkerSlot> CpuSlots(const std::vector<int>& cores, int children);
// Of `gpus_each` of these GPUs; as many slots as there are enough GPUs for.
std::vector<WorkerSlot> GpuSlots(const std::vector<int>& cores, const std::vector<int>& gpus,
                                 int gpus_each);
// The cores that this process was started with.
std::vector<int> AllCores();

struct WorkerCommand {
  std::vector<std::string> arguments;  // the first one is the program's path
  std::string cwd;
  std::string log;  // file to which it adds standard output and error
};

class Workers {
 public:
  explicit Workers(std::vector<WorkerSlot> slots);

  const std::vector<WorkerSlot>& slots() const { return slots_; }
  int FreeSlot() const;  // the first one; -1: none
  bool Idle() const;
  // Throws FileError when there can be no process, or no log.
  void Start(int slot, const WorkerCommand& command);

  struct Ended {
    int slot = 0;
    int code = 0;  // exit code; 128 + N for signal N
  };
  // Those that have ended since the last call. Does not wait.
  std::vector<Ended> Poll();
  // Asks for a snapshot and an end. SIGUSR1, because a second SIGTERM, which a batch system may
  // have sent already, would end it without a snapshot.
  void Stop(int slot);
  void StopAll();

 private:
  std::vector<WorkerSlot> slots_;
  std::vector<pid_t> children_;  // 0: free
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_WORKERS_H_
