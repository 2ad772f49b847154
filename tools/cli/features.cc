#include "tools/cli/features.h"

#include "tools/cli/launch_flags.h"

namespace doppio {
namespace {

void AddLaunch(const CommandLine& line, Features* features) {
  const Flags& flags = line.flags;
  const Launch launch = LaunchOf(flags);
  const bool elastic = !flags.elastic.empty();
  features->AddIf(elastic, Feature::kElastic);
  // A launcher may start one process of an elastic training, and a dry run needs none.
  const bool processes =
      launch.size > 1 || (elastic && (flags.dry_run || !launch.launcher.empty()));
  features->AddIf(processes, Feature::kProcesses);
  features->AddIf(launch.size > 1, Feature::kReplicas, "the replicas of a launcher");
  features->AddIf(flags.comm == "mpi", Feature::kMpi);
  features->AddIf(launch.mpi && flags.comm != "tcp" && flags.comm != "mpi", Feature::kMpi,
                  launch.launcher + ", which joins its processes by MPI");
}

}  // namespace

Features FeaturesOf(const CommandLine& line) {
  const Flags& flags = line.flags;
  Features features;
  features.AddIf(!flags.gpu.empty(), Feature::kGpu);
  features.AddIf(flags.cpu_replicas > 1, Feature::kCpuReplicas);
  features.AddIf(flags.cpu_replicas > 1, Feature::kReplicas, "--cpu_replicas");
  AddLaunch(line, &features);
  features.AddIf(flags.comm == "p2p", Feature::kP2p);
  features.AddIf(flags.comm == "nccl", Feature::kNccl);
  features.AddIf(flags.hierarchical, Feature::kHierarchical);
  features.AddIf(flags.shard_update, Feature::kShardUpdate);
  features.AddIf(flags.sync_bn, Feature::kSyncBn);
  features.AddIf(flags.recompute != "off", Feature::kRecompute);
  features.AddIf(flags.offload != "off", Feature::kOffload);
  features.AddIf(flags.precision == "tf32", Feature::kTf32);
  features.AddIf(!flags.trace.empty(), Feature::kTrace);
  return features;
}

}  // namespace doppio
