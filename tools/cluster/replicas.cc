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
#include "tools/cluster/joined.h"
#include "tools/nets/devices.h"

namespace doppio {
namespace {

constexpr int kMostReplicas = 1024;

void AddLink(const std::string& comm, bool processes, bool one_each, Replicas* replicas) {
  replicas->link = ChooseLink(replicas->devices[0]->kind(), comm, processes, one_each);
  replicas->how += "; " + replicas->link->how;
}

// Returns what connects the ranks of this process to sum their devices' memory; empty on the CPU.
MakeBulk BulkOf(const Replicas& replicas) {
  if (!replicas.link) return {};
  return [&](const LinkPlace& place) {
    return ConnectLink(*replicas.link, replicas.DeviceOf(place.control->rank()), place);
  };
}

// Adds CPU devices until there is one per replica.
void FillWithCpus(int count, Replicas* replicas) {
  while (static_cast<int>(replicas->devices.size()) < count)
    replicas->devices.push_back(MakeCpuDevice());
}

// Describes the ranks in processes that a launcher has started and that `library` joins; each
// process runs one rank, or `threads` of them.
void DescribeProcesses(const std::string& library, int threads, Replicas* replicas) {
  const Launch& launch = replicas->launch;
  const ProcessWorld* const world = replicas->world;
  // The ranks of an elastic training are not those of the launcher.
  const int size = world == nullptr ? launch.size : world->size();
  const int rank = world == nullptr ? launch.rank : world->rank();
  replicas->count = size * threads;
  replicas->process_rank = rank;
  replicas->first_rank = rank * threads;
  const std::string each =
      std::to_string(size) + " processes × " + std::to_string(threads) + " threads";
  replicas->how = "in " + (threads > 1 ? each : "processes") + " that " + launch.launcher +
                  " has started, joined by " + library;
}

// Describes the ranks that are threads of this process.
void DescribeThreads(const std::vector<int>& gpus, Replicas* replicas) {
  if (replicas->count == 1) return;
  replicas->how = "in threads of this process, ";
  if (gpus.empty()) {
    replicas->how +=
        std::to_string(std::max(1, NumThreads() / replicas->count)) + " compute thread(s) each";
    return;
  }
  std::string list;
  for (const int gpu : gpus) list += (list.empty() ? "" : ", ") + std::to_string(gpu);
  replicas->how += "on GPUs " + list;
}

// Throws UsageError unless all processes have the same number of replicas, which the batch and the
// learning rate assume. By Cauchy-Schwarz, (sum n)^2 equals sum n^2 times the number of processes
// only if all n are equal.
void CheckAllAlike(size_t replicas, const World& processes) {
  const double own = static_cast<double>(replicas);
  double sums[] = {own, own * own};
  processes.control().AllReduce(sums, 2, DType::kFloat64);
  if (sums[0] * sums[0] == sums[1] * processes.size()) return;
  throw UsageError("each process needs the same --cpu_replicas, but " +
                   std::to_string(processes.size()) + " processes have " +
                   std::to_string(static_cast<int64_t>(sums[0])) + " in all, and process " +
                   std::to_string(processes.rank()) + " has " + std::to_string(replicas));
}

void RunProcess(const Replicas& replicas, const std::function<void(World*, Device*)>& body,
                std::string* summed) {
  ProcessWorld* const world = replicas.world;
  CheckAllAlike(replicas.devices.size(), *world);
  ProcessExchange exchange;
  exchange.reducer = replicas.reducer;
  exchange.make_bulk = BulkOf(replicas);
  exchange.hierarchical = replicas.hierarchical;
  world->Connect(exchange);
  if (summed != nullptr) *summed = world->how_summed();
  const Launch& launch = replicas.launch;
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
         Bytes(known ? trainer.update().history().largest_bytes() : plan.history) + " of " +
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

ReducerOptions MakeReducerOptions(const ReplicaOptions& options) {
  ReducerOptions reducer;
  reducer.bucket_bytes = BucketBytesFromFlag(options.bucket_mb);
  CheckValue("reduce_precision", options.reduce_precision, {"fp32", "bf16", "fp16"});
  if (options.reduce_precision == "bf16") reducer.type = DType::kBFloat16;
  if (options.reduce_precision == "fp16") reducer.type = DType::kFloat16;
  return reducer;
}

Replicas OpenReplicas(const ReplicaOptions& options, const JoinOptions& joining,
                      const DeviceOptions& devices, ProcessWorld* world, CommonEnd* end) {
  CheckValue("comm", joining.comm, {"auto", "threads", "p2p", "nccl", "mpi", "tcp"});
  InRange("cpu_replicas", options.cpu_replicas, 1, kMostReplicas);
  Replicas replicas;
  replicas.world = world;
  replicas.reducer = MakeReducerOptions(options);
  replicas.hierarchical = options.hierarchical;
  replicas.watch = end->MakeWatchOptions(joining, true);
  replicas.launch = LaunchOf(joining);
  const bool processes = replicas.launch.size > 1 || world != nullptr;
  if (processes) {
    DescribeProcesses(JoiningLibrary(joining, replicas.launch), options.cpu_replicas, &replicas);
  } else {
    PrepareForSeveralGpus(devices.gpu);
  }
  const ChosenGpus chosen = ChooseGpus(devices.gpu, replicas.launch);
  const std::vector<int>& gpus = chosen.indices;
  replicas.devices = OpenDevices(devices, chosen);
  if (gpus.empty()) FillWithCpus(options.cpu_replicas, &replicas);
  if (!processes) {
    replicas.count = static_cast<int>(replicas.devices.size());
    DescribeThreads(gpus, &replicas);
  }
  const bool one_each = std::set<int>(gpus.begin(), gpus.end()).size() == gpus.size();
  if (!gpus.empty() && replicas.count > 1) AddLink(joining.comm, processes, one_each, &replicas);
  return replicas;
}

Device* Replicas::DeviceOf(int rank) const {
  return devices[devices.size() == 1 ? 0 : static_cast<size_t>(rank - first_rank)].get();
}

int Replicas::Sharing() const {
  if (devices[0]->properties.host_memory) return count;
  return static_cast<int>(std::count_if(devices.begin(), devices.end(), [&](const auto& device) {
    return device->name() == devices[0]->name();
  }));
}

void RunReplicas(const Replicas& replicas,
                 const std::function<void(World* world, Device* device)>& body,
                 std::string* summed) {
  if (replicas.count == 1 && replicas.world == nullptr) {
    body(nullptr, replicas.devices[0].get());
    return;
  }
  if (replicas.world != nullptr) return RunProcess(replicas, body, summed);
  if (replicas.hierarchical && summed != nullptr)
    *summed = "gradients are summed at once: all replicas are in one process";
  RunThreadWorld(
      replicas.count, replicas.reducer,
      [&](World& world) { body(&world, replicas.DeviceOf(world.rank())); }, BulkOf(replicas), {},
      replicas.watch);
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

void AddReplicaOptions(const ReplicaOptions& options, int ranks, TrainerOptions* trainer) {
  CheckValue("batch_mode", options.batch_mode, {"per_device", "total"});
  CheckValue("scale_lr", options.scale_lr, {"none", "linear", "sqrt"});
  if (options.batch_mode == "total") trainer->net.shares = ranks;
  if (options.scale_lr == "linear") trainer->rate_scale = ranks;
  if (options.scale_lr == "sqrt") trainer->rate_scale = std::sqrt(ranks);
  trainer->warmup = AtLeast("lr_warmup", options.lr_warmup, 0);
  trainer->check_replicas = AtLeast("check_replicas", options.check_replicas, 0);
  trainer->plan.sync_statistics = options.sync_bn;
  trainer->shard_update = options.shard_update;
  if (options.shard_update) trainer->plan.history_ranks = ranks;
  const DType sent = MakeReducerOptions(options).type;
  if (ranks > 1 && Is16Bit(sent))
    trainer->plan.exchange_bytes = static_cast<int>(ElementBytes(sent));
}

std::string RanksText(const Trainer& trainer, const Replicas& replicas,
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
  const DType sent = replicas.reducer.type;
  if (Is16Bit(sent))
    text +=
        std::string("; gradients are exchanged in ") + (sent == DType::kBFloat16 ? "bf16" : "fp16");
  if (options.shard_update) text += "; " + ShardText(trainer);
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
