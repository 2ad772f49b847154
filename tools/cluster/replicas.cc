#include "tools/cluster/replicas.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <thread>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/threads.h"
#include "parallel/reduce/bucket_size.h"
#include "parallel/watch/preflight.h"
#include "parallel/world/launcher.h"
#include "parallel/world/thread_world.h"
#include "tools/cli/flags.h"
#include "tools/cli/launch_flags.h"
#include "tools/cli/text_table.h"
#include "tools/cli/features.h"
#include "tools/cluster/joined.h"
#include "tools/nets/devices.h"

namespace doppio {
namespace {

constexpr int kMostReplicas = 1024;

void AddLink(const Flags& flags, bool processes, bool one_each, Replicas* replicas) {
  replicas->link = ChooseLink(flags.comm, processes, one_each);
  replicas->how += "; " + replicas->link->how;
}

// Returns what connects the ranks of this process to sum their devices' memory; empty on the CPU.
MakeBulk BulkOf(const Flags& flags, const Replicas& replicas) {
  if (!replicas.link) return {};
  return [&](const LinkPlace& place) {
    return ConnectLink(*replicas.link, flags.comm == "auto",
                       replicas.DeviceOf(place.control->rank()), place);
  };
}

// Adds CPU devices until there is one per replica of --cpu_replicas.
void FillWithCpus(const Flags& flags, Replicas* replicas) {
  while (static_cast<int>(replicas->devices.size()) < flags.cpu_replicas)
    replicas->devices.push_back(MakeCpuDevice());
}

// Describes the ranks in processes that a launcher has started; each process runs one rank or
// several as threads.
Replicas Processes(const Flags& flags, const Launch& launch, ProcessWorld* world) {
  Replicas replicas;
  // The ranks of an elastic training are not those of the launcher.
  const int size = world == nullptr ? launch.size : world->size();
  const int rank = world == nullptr ? launch.rank : world->rank();
  replicas.count = size * flags.cpu_replicas;
  replicas.process_rank = rank;
  replicas.first_rank = rank * flags.cpu_replicas;
  replicas.world = world;
  const std::string library = JoiningLibrary(flags, launch);
  const std::string threads =
      std::to_string(size) + " processes × " + std::to_string(flags.cpu_replicas) + " threads";
  replicas.how = "in " + (flags.cpu_replicas > 1 ? threads : "processes") + " that " +
                 launch.launcher + " has started, joined by " + library;
  const ChosenGpus gpus = ChooseGpus(flags.gpu, launch);
  replicas.devices = OpenDevices(flags, flags.gpu, gpus);
  FillWithCpus(flags, &replicas);
  if (!gpus.indices.empty()) AddLink(flags, true, true, &replicas);
  return replicas;
}

Replicas Threads(const Flags& flags) {
  Replicas replicas;
  LoadKernelsAtOnceForSeveral(flags.gpu);
  const ChosenGpus gpus = ChooseGpus(flags.gpu);
  replicas.devices = OpenDevices(flags, flags.gpu, gpus);
  replicas.count = flags.gpu.empty() ? flags.cpu_replicas : static_cast<int>(gpus.indices.size());
  if (replicas.count > 1 && !gpus.indices.empty()) {
    std::string list;
    for (int index : gpus.indices) list += (list.empty() ? "" : ", ") + std::to_string(index);
    replicas.how = "in threads of this process, on GPUs " + list;
    const std::set<int> different(gpus.indices.begin(), gpus.indices.end());
    AddLink(flags, false, different.size() == gpus.indices.size(), &replicas);
  } else if (replicas.count > 1) {
    FillWithCpus(flags, &replicas);
    replicas.how = "in threads of this process, " +
                   std::to_string(std::max(1, NumThreads() / replicas.count)) +
                   " compute thread(s) each";
  }
  return replicas;
}

// Throws UsageError unless all processes have the same number of replicas, which the batch and the
// learning rate assume. By Cauchy-Schwarz, (sum n)^2 equals sum n^2 times the number of processes
// only if all n are equal.
void CheckAllAlike(const Flags& flags, const World& processes) {
  const double own = flags.cpu_replicas;
  double sums[] = {own, own * own};
  processes.control().AllReduce(sums, 2, DType::kFloat64);
  if (sums[0] * sums[0] == sums[1] * processes.size()) return;
  throw UsageError("each process needs the same --cpu_replicas, but " +
                   std::to_string(processes.size()) + " processes have " +
                   std::to_string(static_cast<int64_t>(sums[0])) + " in all, and process " +
                   std::to_string(processes.rank()) + " has " + std::to_string(flags.cpu_replicas));
}

void RunProcess(const Flags& flags, const Replicas& replicas,
                const std::function<void(World*, Device*)>& body, std::string* summed) {
  ProcessWorld* const world = replicas.world;
  CheckAllAlike(flags, *world);
  ProcessExchange exchange;
  exchange.reducer = BucketsFromFlags(flags);
  exchange.make_bulk = BulkOf(flags, replicas);
  exchange.hierarchical = flags.hierarchical;
  world->Connect(exchange);
  if (summed != nullptr) *summed = world->how_summed();
  const Launch launch = LaunchFromFlags(flags);
  // Most launchers bind each process to its own cores. If this one does not, the processes of a
  // machine divide the cores among themselves here.
  const bool shares = launch.local_size > 1 &&
                      ProcessCores() == static_cast<int>(std::thread::hardware_concurrency()) &&
                      !NumThreadsChosen();
  const AmongProcesses processes = {world, shares ? launch.local_rank : 0,
                                    shares ? launch.local_size : 1};
  if (replicas.devices.size() > 1) {
    RunThreadWorld(
        static_cast<int>(replicas.devices.size()), exchange.reducer,
        [&](World& ranks) { body(&ranks, replicas.DeviceOf(ranks.rank())); }, {}, processes);
  } else {
    const ComputeShare share(processes.share, processes.shares);
    body(world, replicas.DeviceOf(world->rank()));
  }
  world->Disconnect();
}

// Returns "each updates a share of the weights, with at most 2.1 MiB of 8.2 MiB of history". A
// trainer of --dry_run has no other ranks, so its shares are not known.
std::string ShardText(const Trainer& trainer) {
  const bool known = trainer.parts().update.exchange() != nullptr;
  const MemoryUse& plan = trainer.train_net().plan().memory;
  return "each updates a share of the weights, with " + std::string(known ? "at most " : "about ") +
         Bytes(known ? trainer.update().history_bytes() : plan.history) + " of " +
         Bytes(plan.whole_history) + " of history";
}

int64_t BucketBytesFromFlag(const std::string& value) {
  if (value == "auto") return kAutoBucketBytes;
  double mb = -1;
  if (!ReadNumber(value, &mb) || !(mb >= 0 && mb <= 1e6)) {
    throw UsageError(
        "--bucket_mb needs auto, or 0 (a message for each parameter) to 1000000; got '" + value +
        "'");
  }
  return static_cast<int64_t>(mb * (1 << 20));
}

}  // namespace

ReducerOptions BucketsFromFlags(const Flags& flags) {
  ReducerOptions options;
  options.bucket_bytes = BucketBytesFromFlag(flags.bucket_mb);
  CheckValue("reduce_precision", flags.reduce_precision, {"fp32", "bf16", "fp16"});
  if (flags.reduce_precision == "bf16") options.type = DType::kBFloat16;
  if (flags.reduce_precision == "fp16") options.type = DType::kFloat16;
  return options;
}

Replicas ReplicasFromFlags(const Flags& flags, ProcessWorld* world) {
  CheckValue("comm", flags.comm, {"auto", "threads", "p2p", "nccl", "mpi", "tcp"});
  if (flags.cpu_replicas < 1 || flags.cpu_replicas > kMostReplicas) {
    throw UsageError("--cpu_replicas needs 1 to " + std::to_string(kMostReplicas) + "; got " +
                     std::to_string(flags.cpu_replicas));
  }
  BucketsFromFlags(flags);
  CheckCombinations(FeaturesOf(flags));
  WatchFromFlags(flags);
  const Launch launch = LaunchFromFlags(flags);
  if (launch.size > 1 || world != nullptr) return Processes(flags, launch, world);
  return Threads(flags);
}

Device* Replicas::DeviceOf(int rank) const {
  return devices[devices.size() == 1 ? 0 : static_cast<size_t>(rank - first_rank)].get();
}

int Replicas::Sharing() const {
  if (devices[0]->host_memory()) return count;
  return static_cast<int>(std::count_if(devices.begin(), devices.end(), [&](const auto& device) {
    return device->name() == devices[0]->name();
  }));
}

void RunReplicas(const Flags& flags, const Replicas& replicas,
                 const std::function<void(World* world, Device* device)>& body,
                 std::string* summed) {
  if (replicas.count == 1 && replicas.world == nullptr) {
    body(nullptr, replicas.devices[0].get());
    return;
  }
  if (replicas.world != nullptr) return RunProcess(flags, replicas, body, summed);
  if (flags.hierarchical && summed != nullptr)
    *summed = "gradients are summed at once: all replicas are in one process";
  RunThreadWorld(
      replicas.count, BucketsFromFlags(flags),
      [&](World& world) { body(&world, replicas.DeviceOf(world.rank())); }, BulkOf(flags, replicas),
      {}, WatchFromFlags(flags));
}

std::vector<std::string> TryLinks(const Replicas& replicas, World* world, Device* device) {
  std::vector<std::string> texts;
  if (!replicas.link) return texts;
  std::vector<Device*> devices;
  for (const auto& each : replicas.devices) devices.push_back(each.get());
  const std::string peers = DescribeLinks(devices);
  if (!peers.empty()) texts.push_back(peers);
  texts.push_back(TimeAllReduce(&world->bulk(), device));
  return texts;
}

void AddReplicaFlags(const Flags& flags, int ranks, TrainerOptions* options) {
  CheckValue("batch_mode", flags.batch_mode, {"per_device", "total"});
  CheckValue("scale_lr", flags.scale_lr, {"none", "linear", "sqrt"});
  if (flags.lr_warmup < 0)
    throw UsageError("--lr_warmup needs 0 or more; got " + std::to_string(flags.lr_warmup));
  if (flags.batch_mode == "total") options->net.shares = ranks;
  if (flags.scale_lr == "linear") options->rate_scale = ranks;
  if (flags.scale_lr == "sqrt") options->rate_scale = std::sqrt(ranks);
  options->warmup = flags.lr_warmup;
  if (flags.check_replicas < 0)
    throw UsageError("--check_replicas needs 0 or more; got " +
                     std::to_string(flags.check_replicas));
  options->check_replicas = flags.check_replicas;
  options->plan.sync_statistics = flags.sync_bn;
  options->shard_update = flags.shard_update;
  if (flags.shard_update) options->plan.history_ranks = ranks;
  const DType sent = BucketsFromFlags(flags).type;
  if (ranks > 1 && Is16Bit(sent))
    options->plan.exchange_bytes = static_cast<int>(ElementBytes(sent));
}

std::string RanksText(const Flags& flags, const Trainer& trainer, const Replicas& replicas,
                      const TrainerOptions& options) {
  if (replicas.count == 1) return "";
  const int64_t batch = trainer.parts().run.batch, all = batch * replicas.count;
  const int iter_size = trainer.parts().run.schedule.iter_size;
  std::string text = std::to_string(replicas.count) + " replicas " + replicas.how + ": " +
                     std::to_string(replicas.count) + " × batch " + Thousands(batch) + " = " +
                     Thousands(all) + " samples a pass";
  if (iter_size > 1)
    text += ", × iter_size " + std::to_string(iter_size) + " = " + Thousands(all * iter_size) +
            " an iteration";
  if (flags.reduce_precision != "fp32")
    text += "; gradients are exchanged in " + flags.reduce_precision;
  if (flags.shard_update) text += "; " + ShardText(trainer);
  if (options.rate_scale != 1) {
    text += "; learning rate × " + Fixed(options.rate_scale, 2);
    if (options.warmup > 0) text += " after " + Thousands(options.warmup) + " iterations";
  }
  return text;
}

std::string ExchangeText(const Trainer& trainer, int64_t iterations) {
  const GradientExchange* const exchange = trainer.parts().update.exchange();
  if (exchange == nullptr || iterations == 0) return "";
  const GradientExchange::Totals totals = exchange->totals();
  const double n = static_cast<double>(iterations);
  const std::string gathered =
      totals.gathered_bytes == 0
          ? ""
          : " and " + Bytes(totals.gathered_bytes / iterations) + " of weights gathered";
  return "gradients: " + Bytes(totals.bytes / iterations) + " reduced" + gathered +
         " per iteration in " + Fixed(1e3 * totals.busy_seconds / n, 2) + " ms, of which " +
         Fixed(1e3 * totals.exposed_seconds / n, 2) + " ms were waited for";
}

}  // namespace doppio
