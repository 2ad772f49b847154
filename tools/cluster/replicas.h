// Makes the ranks that train together from the flags.
#ifndef DOPPIO_TOOLS_CLUSTER_REPLICAS_H_
#define DOPPIO_TOOLS_CLUSTER_REPLICAS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/contract/communicator.h"
#include "parallel/reduce/reducer.h"
#include "parallel/world/process_world.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/flags.h"
#include "tools/cluster/links.h"

namespace doppio {

// Reads --bucket_mb and --reduce_precision. Throws UsageError.
ReducerOptions BucketsFromFlags(const Flags& flags);

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

  // Returns the device of `rank`, which must be a rank of this process.
  Device* DeviceOf(int rank) const;
  // Returns how many ranks share the memory of this process's first device; on the CPU, all ranks.
  int Sharing() const;
};
// Reads --comm, --gpu, --cpu_replicas and others, and opens the devices. `world` is as in
// RunJoined. Throws UsageError, DeviceError.
Replicas ReplicasFromFlags(const Flags& flags, ProcessWorld* world);

// Runs `body` for each rank of this process, with a null world if there is only one rank in all.
// For failures see RunThreadWorld, and RunJoined if the ranks are in several processes. If `summed`
// is not null, it receives the effect of --hierarchical, for the log, before a body runs; ""
// without that flag.
void RunReplicas(const Flags& flags, const Replicas& replicas,
                 const std::function<void(World* world, Device* device)>& body,
                 std::string* summed = nullptr);

// Measures the link between GPUs before the training and returns lines for the log: which GPUs
// reach each other, and how fast an all-reduce is. All ranks must call it. Returns nothing on the
// CPU.
std::vector<std::string> TryLinks(const Replicas& replicas, World* world, Device* device);

// Sets the options of --batch_mode, --scale_lr, --lr_warmup, --check_replicas, --sync_bn,
// --shard_update and --reduce_precision for `ranks` ranks. Throws UsageError.
void AddReplicaFlags(const Flags& flags, int ranks, TrainerOptions* options);

// Returns, for the log, "2 replicas in threads of this process, ...: 2 × batch 64 = 128 samples a
// pass; learning rate × 2.00"; "" for one rank.
std::string RanksText(const Flags& flags, const Trainer& trainer, const Replicas& replicas,
                      const TrainerOptions& options);

// Returns, for the log, "gradients: 1.6 MiB reduced per iteration in 0.80 ms, of which 0.30 ms were
// waited for"; "" if no gradients are exchanged. With --shard_update, it also counts weights.
std::string ExchangeText(const Trainer& trainer, int64_t iterations);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_REPLICAS_H_
