// The ranks that train together.
#ifndef DOPPIO_TOOLS_CLUSTER_REPLICAS_H_
#define DOPPIO_TOOLS_CLUSTER_REPLICAS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/contract/communicator.h"
#include "parallel/reduce/reducer.h"
#include "parallel/world/launcher.h"
#include "parallel/world/process_world.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/options.h"
#include "tools/cluster/common_end.h"
#include "tools/cluster/links.h"

namespace doppio {

// Returns the options of the exchange of gradients. Throws UsageError.
ReducerOptions MakeReducerOptions(const ReplicaOptions& options);

// The ranks of this process, and how they are connected to all others.
struct Replicas {
  int count = 1;         // total number of ranks; 1: there is no world
  int process_rank = 0;  // rank of this process among several processes
  int first_rank = 0;    // first rank in this process
  // The processes that train together; null if this process is alone or only plans. Not owned.
  ProcessWorld* world = nullptr;
  std::string how;  // for the log: "in threads of this process, ..."; "" for one rank
  std::vector<std::unique_ptr<Device>> devices;  // one per rank of this process
  std::optional<LinkChoice> link;                // set if several ranks use GPUs
  ReducerOptions reducer;
  bool hierarchical = false;  // sums gradients within each machine first
  Launch launch;              // how this process was started
  WatchOptions watch;         // of ranks that are threads of this process

  // Returns the device of `rank`, which must be a rank of this process.
  Device* DeviceOf(int rank) const;
  // Returns how many ranks share the memory of this process's first device; on the CPU, all ranks.
  int Sharing() const;
};
// Opens the devices of this process's ranks. `world` is as in RunJoined, and `end` must outlive the
// result. Throws UsageError, DeviceError.
Replicas OpenReplicas(const ReplicaOptions& options, const JoinOptions& joining,
                      const DeviceOptions& devices, ProcessWorld* world, CommonEnd* end);

// Runs `body` for each rank of this process, with a null world if there is only one rank in all.
// For failures see RunThreadWorld, and RunJoined if the ranks are in several processes. If `summed`
// is not null, it receives the effect of `hierarchical`, for the log, before a body runs; "" if it
// is false.
void RunReplicas(const Replicas& replicas,
                 const std::function<void(World* world, Device* device)>& body,
                 std::string* summed = nullptr);

// Measures the link between GPUs before the training and returns lines for the log: which GPUs
// reach each other, and how fast an all-reduce is. All ranks must call it. Returns nothing on the
// CPU.
std::vector<std::string> TryLinks(const Replicas& replicas, World* world, Device* device);

// Sets the options of a trainer that is one of `ranks` replicas. Throws UsageError.
void AddReplicaOptions(const ReplicaOptions& options, int ranks, TrainerOptions* trainer);

// Returns, for the log, "2 replicas in threads of this process, ...: 2 × batch 64 = 128 samples a
// pass; learning rate × 2.00"; "" for one rank.
std::string RanksText(const Trainer& trainer, const Replicas& replicas,
                      const TrainerOptions& options);

// Returns, for the log, "gradients: 1.6 MiB reduced per iteration in 0.80 ms, of which 0.30 ms were
// waited for"; "" if no gradients are exchanged. With --shard_update, it also counts weights.
std::string ExchangeText(const Trainer& trainer, int64_t iterations);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_REPLICAS_H_
