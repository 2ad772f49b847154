// From flags to the ranks that train together.
#ifndef DOPPIO_TOOLS_CLUSTER_REPLICAS_H_
#define DOPPIO_TOOLS_CLUSTER_REPLICAS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/run/communicator.h"
#include "parallel/world/process_world.h"
#include "parallel/reduce/reducer.h"
#include "solvers/trainer/trainer.h"
#include "tools/cluster/links.h"

namespace doppio {

// --bucket_mb and --reduce_precision. Throws UsageError.
ReducerOptions BucketsFromFlags();

// How the ranks of this process come about, as the flags say. Throws UsageError.
struct Replicas {
  int count = 1;         // ranks in all; 1: no world
  int process_rank = 0;  // of this process, where several train together
  int first_rank = 0;    // of this process
  // The processes that train together; null if this one is alone, or if nothing is run.
  ProcessWorld* world = nullptr;
  std::string how;                               // "in threads of this process, ..."; "" for one
  std::vector<std::unique_ptr<Device>> devices;  // of the ranks of this process
  std::optional<LinkChoice> link;                // between several GPUs

  Device* DeviceOf(int rank) const;  // a rank of this process
  int Sharing() const;  // ranks of this process that use the memory of the first one's device
};
// `world`: see RunJoined.
Replicas ReplicasFromFlags(ProcessWorld* world);

// Runs `body` for each rank of this process, with a null world where there is one alone. See
// RunThreadWorld for failures, and RunJoined where ranks are in several processes. `summed`, where
// given, gets what --hierarchical has led to, for the log, before a body runs; "" without.
void RunReplicas(const Replicas& replicas,
                 const std::function<void(World* world, Device* device)>& body,
                 std::string* summed = nullptr);

// Collective, before the training: what connects ranks on GPUs and how fast it is, for the log;
// nothing on the CPU.
std::vector<std::string> TryLinks(const Replicas& replicas, World* world, Device* device);

// --batch_mode, --scale_lr, --lr_warmup and --check_replicas, for so many ranks.
void AddReplicaFlags(int ranks, TrainerOptions* options);

// "per iteration 2 ranks × batch 64 = 128 samples, learning rate × 2 ..."; "" for one rank.
std::string RanksText(const Trainer& trainer, const Replicas& replicas,
                      const TrainerOptions& options);

// What reducing gradients took: "gradients: 1.6 MiB reduced per iteration in 0.8 ms, of which 0.3
// ms waited for"; "" without.
std::string ExchangeText(const Trainer& trainer, int64_t iterations);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_REPLICAS_H_
