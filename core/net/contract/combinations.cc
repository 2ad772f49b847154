#include "core/net/contract/combinations.h"

#include <algorithm>
#include <iterator>

namespace doppio {
namespace {

using F = Feature;
using V = PairRule;

// In the order of Feature.
constexpr FeatureText kTexts[] = {
    {"--place", "layers on several devices: `--place`, or the field `device` of layers"},
    {"--microbatches", "a batch divided into parts: `--microbatches`"},
    {"--gpu", "a GPU, or a replica on each of several: `--gpu`"},
    {"several replicas", "replicas of the whole net: threads, processes or GPUs"},
    {"--cpu_replicas", "replicas in threads of a process: `--cpu_replicas`"},
    {"replicas in processes", "replicas that `doppio launch`, mpirun or a job system starts"},
    {"--elastic", "replicas that come and go: `--elastic`"},
    {"--comm=mpi", "processes that MPI joins: `--comm=mpi`, or mpirun"},
    {"--comm=p2p", "sums by copies between GPUs: `--comm=p2p`"},
    {"--comm=nccl", "sums by NCCL: `--comm=nccl`"},
    {"--hierarchical", "sums in each machine first: `--hierarchical`"},
    {"--shard_update", "replicas that divide the update: `--shard_update`"},
    {"--sync_bn", "statistics of the batches of all replicas: `--sync_bn`"},
    {"--recompute", "activations computed again: `--recompute`"},
    {"--offload", "activations in host memory: `--offload`"},
    {"--precision=tf32", "products in TF32: `--precision=tf32`"},
    {"a dynamic loss scale", "`--loss_scale=dynamic`, and half precision without another scale"},
    {"iter_size", "gradients of several passes: `iter_size` above 1"},
    {"clip_gradients", "`clip_gradients`"},
    {"rates by norms", "rates by norms of parameters: LAMB, `larc`, `local_lr_auto`"},
    {"Muon", "matrices that are updated as a whole: `type: \"Muon\"`"},
    {"a rate by the loss", "rates that depend on the loss: `lr_policy: \"plateau\"`"},
    {"snapshot_diff", "changes of weights in snapshots: `snapshot_diff`"},
    {"debug_info", "magnitudes of all blobs in the log: `debug_info`"},
    {"a test net", "tests during the training: `test_interval`"},
    {"--monitor", "the best state, and early stopping: `--monitor`"},
    {"--trace", "a timeline: `--trace`"},
    {"a script's solver", "a solver in Python, whose blobs a script reads"},
    {"a layer whose tops change their shape",
     "a layer in Python, RoiData, or HDF5Data with files of several shapes"},
    {"images of several sizes", "images in batches of 1 that are neither resized nor cropped"},
    {"a state from pass to pass",
     "RNN and LSTM without `expose_hidden`, SegAccuracy with `reset: false`"},
    {"samples from a program", "MemoryData layers, to which a program gives samples"},
    {"update during backward", "each parameter is updated as soon as its gradient is complete"},
    {"gradients in slices", "a large gradient exists only slice by slice"},
    {"recordings", "a GPU replays recorded work (CUDA graphs)"},
    {"chains", "one kernel computes several layers"},
    {"a snapshot at an error", "a training that ends with an error saves its last iteration"},
};
static_assert(std::size(kTexts) == static_cast<size_t>(F::kCount));

const Combination kRows[] = {
    {F::kPlace, F::kGpu, V::kRefused,
     "--gpu asks for one device for the whole net, or for a replica on each"},
    {F::kPlace, F::kReplicas, V::kRefused, "each replica would need devices of its own"},
    {F::kPlace, F::kElastic, V::kRefused, "ranks that come and go hold the whole net"},
    {F::kPlace, F::kShardUpdate, V::kRefused, "only replicas of the whole net divide the update"},
    {F::kPlace, F::kRecompute, V::kRefused,
     "the stages run one forward and one backward of each batch"},
    {F::kPlace, F::kOffload, V::kRefused, "only activations of one device move to host memory"},
    {F::kPlace, F::kChangingTops, V::kRefused,
     "the shapes of values that move between devices are fixed"},
    {F::kPlace, F::kSeveralSizes, V::kFails, "an image has another size than the first one"},
    {F::kMicrobatches, F::kPlace, V::kNeeds,
     "one device computes a net whole; iter_size in the solver divides its batch"},
    {F::kMicrobatches, F::kState, V::kRefused,
     "the parts of a batch pass at the same time, and none continues another one's state"},
    {F::kMicrobatches, F::kProgramSamples, V::kRefused,
     "a program gives its samples to one net, and each part of a batch has its own"},

    {F::kGpu, F::kCpuReplicas, V::kRefused, "one asks for GPUs, the other for replicas on the CPU"},
    {F::kP2p, F::kGpu, V::kNeeds, "it is between GPUs, such as those of --gpu=0,1"},
    {F::kP2p, F::kProcesses, V::kRefused, "it copies between GPUs of one process; use nccl or mpi"},
    {F::kNccl, F::kGpu, V::kNeeds, "it is between GPUs, such as those of --gpu=0,1"},
    {F::kTf32, F::kGpu, V::kNeeds, "the CPU supports fp32, bf16 and fp16"},
    {F::kElastic, F::kProcesses, V::kNeeds,
     "a launcher must start them, such as doppio launch, with RANK, WORLD_SIZE, MASTER_ADDR and "
     "MASTER_PORT in the environment"},
    {F::kElastic, F::kGpu, V::kRefused, "ranks that come and go compute on CPUs"},
    {F::kElastic, F::kCpuReplicas, V::kRefused, "each process that comes or goes is one replica"},
    {F::kElastic, F::kMpi, V::kRefused,
     "ranks that come and go are joined by TCP, as by doppio launch, or srun with --comm=tcp"},
    {F::kElastic, F::kHierarchical, V::kRefused, "it sums over all ranks at once"},
    {F::kElastic, F::kShardUpdate, V::kRefused, "a lost rank takes its share of the history along"},
    {F::kElastic, F::kTrace, V::kRefused,
     "a timeline has the same ranks from its start to its end"},
    {F::kShardUpdate, F::kGpu, V::kRefused, "ranks divide the update in host memory only"},
    {F::kShardUpdate, F::kSnapshotDiff, V::kRefused,
     "each replica knows only the changes of its own share of the weights", F::kReplicas},
    {F::kShardUpdate, F::kReplicas, V::kIdle, "there is no rank to share with"},
    {F::kMatrices, F::kGpu, V::kRefused, "matrices become orthogonal on the CPU only"},
    {F::kMatrices, F::kPlace, V::kRefused, "the update computes on one device"},
    {F::kMatrices, F::kShardUpdate, V::kRefused,
     "an orthogonal update needs the whole gradient of a matrix, of which each replica has a "
     "share"},
    {F::kSyncBn, F::kReplicas, V::kIdle, "the statistics are those of the whole batch"},
    {F::kHierarchical, F::kProcesses, V::kIdle, "threads of one process sum at once"},
    {F::kChangingTops, F::kReplicas, V::kFails,
     "a shape changes behind a layer that would have to run again on only one replica"},
    {F::kSeveralSizes, F::kReplicas, V::kFails,
     "a size changes behind a layer that would have to run again on only one replica"},
    {F::kChangingTops, F::kState, V::kFails,
     "a shape changes behind a layer with a state, which would have to run again"},
    {F::kState, F::kReplicas, V::kLimited, "each replica carries the states of its own sequences"},

    {F::kOffload, F::kChangingTops, V::kLimited,
     "each change of a shape makes a new plan, also for shapes that were there before"},
    {F::kRecompute, F::kDebugInfo, V::kOff, "every blob is kept for the log"},
    {F::kRecompute, F::kScript, V::kOff, "every blob is kept for the script"},
    {F::kOffload, F::kDebugInfo, V::kOff, "every blob is kept for the log"},
    {F::kOffload, F::kScript, V::kOff, "every blob is kept for the script"},
    {F::kMonitor, F::kTestNet, V::kNeeds,
     "it watches an output of a test; add test_interval to the solver"},
    {F::kClipping, F::kIterSize, V::kLimited,
     "as in Caffe, the limit is for the sum of the passes, which iter_size divides afterwards"},
    {F::kPlace, F::kTestNet, V::kLimited, "on the CPU, tests run on one device, with all threads"},
    {F::kMicrobatches, F::kTestNet, V::kLimited, "tests take whole batches"},
    {F::kSyncBn, F::kTestNet, V::kLimited, "a batch of a test is on one replica"},
    {F::kTrace, F::kMicrobatches, V::kLimited, "the timeline shows the first part of each batch"},

    {F::kEarlyUpdate, F::kPlace, V::kOff, "each device adds gradients of its micro-batches"},
    {F::kEarlyUpdate, F::kGpu, V::kOff, "the host does not know when a gradient is complete"},
    {F::kEarlyUpdate, F::kElastic, V::kOff, "all ranks must complete the same iterations"},
    {F::kEarlyUpdate, F::kDynamicScale, V::kOff, "all gradients must be finite first"},
    {F::kEarlyUpdate, F::kIterSize, V::kOff, "gradients are complete after the last pass"},
    {F::kEarlyUpdate, F::kClipping, V::kOff, "the norm of all gradients comes first"},
    {F::kEarlyUpdate, F::kNormRates, V::kOff, "a norm needs the shares of all ranks",
     F::kShardUpdate},
    {F::kEarlyUpdate, F::kLossRate, V::kOff, "the loss of the iteration comes first"},
    {F::kEarlyUpdate, F::kSnapshotDiff, V::kOff, "a snapshot has the changes of all weights"},
    {F::kEarlyUpdate, F::kDebugInfo, V::kOff, "the log shows the gradients"},
    {F::kEarlyUpdate, F::kScript, V::kOff, "the script reads the gradients"},
    {F::kSlices, F::kEarlyUpdate, V::kIdle, "the whole gradient is needed"},
    {F::kSlices, F::kNormRates, V::kOff, "a norm needs the whole gradient"},
    {F::kSlices, F::kMatrices, V::kOff, "an orthogonal update needs the whole gradient"},
    {F::kSlices, F::kReplicas, V::kOff, "ranks exchange the whole gradient"},
    {F::kSlices, F::kChangingTops, V::kOff, "another plan may compute the gradient"},
    {F::kSlices, F::kSeveralSizes, V::kOff, "another plan may compute the gradient"},
    {F::kRecordings, F::kDebugInfo, V::kOff, "the host reads values between two steps"},
    {F::kRecordings, F::kTrace, V::kOff, "while it traces, each step is measured"},
    {F::kRecordings, F::kChangingTops, V::kOff, "each step may change the plan"},
    {F::kRecordings, F::kSeveralSizes, V::kOff, "each step may change the plan"},
    {F::kChains, F::kDebugInfo, V::kOff, "the blobs inside a chain would not exist"},
    {F::kChains, F::kScript, V::kOff, "the blobs inside a chain would not exist"},
    {F::kLastSnapshot, F::kShardUpdate, V::kOff, "another rank has a part of the history",
     F::kReplicas},
};

bool Counts(const Combination& row, const Features& features) {
  return row.with == F::kCount || features.Has(row.with);
}

std::vector<FeatureUse> UsesOf(Feature feature, const Features& features) {
  std::vector<FeatureUse> uses;
  for (const FeatureUse& use : features.uses()) {
    const bool known = std::any_of(uses.begin(), uses.end(), [&](const FeatureUse& other) {
      return other.as == use.as && other.at.ToString() == use.at.ToString();
    });
    if (use.feature == feature && !known) uses.push_back(use);
  }
  return uses;
}

std::string NameOf(const FeatureUse& use) {
  return use.as.empty() ? TextOf(use.feature).name : use.as;
}

Error Mistake(const FeatureUse& use, const std::string& text) {
  if (use.at.known()) return UserError(use.at, text);
  return UsageError(text);
}

// The message begins with what a file asks for, since it shows the place in the file.
Error Refusal(const FeatureUse& first, const FeatureUse& second, const char* reason) {
  if (second.at.known() && !first.at.known()) return Refusal(second, first, reason);
  return Mistake(first, NameOf(first) + " does not work with " + NameOf(second) + ", because " +
                            reason + "; leave out one of them");
}

}  // namespace

const FeatureText& TextOf(Feature feature) { return kTexts[static_cast<size_t>(feature)]; }

const std::vector<Combination>& Combinations() {
  static const std::vector<Combination> rows(std::begin(kRows), std::end(kRows));
  return rows;
}

bool Features::Has(Feature feature) const {
  return std::any_of(uses_.begin(), uses_.end(),
                     [&](const FeatureUse& use) { return use.feature == feature; });
}

std::vector<Error> RefusalsOf(const Features& features) {
  std::vector<Error> refusals;
  for (const Combination& row : Combinations()) {
    if (!Counts(row, features)) continue;
    const std::vector<FeatureUse> seconds = UsesOf(row.second, features);
    for (const FeatureUse& first : UsesOf(row.first, features)) {
      if (row.rule == V::kNeeds && seconds.empty()) {
        refusals.push_back(Mistake(
            first, NameOf(first) + " needs " + TextOf(row.second).name + ": " + row.reason));
      }
      if (row.rule != V::kRefused) continue;
      for (const FeatureUse& second : seconds)
        refusals.push_back(Refusal(first, second, row.reason));
    }
  }
  return refusals;
}

void CheckCombinations(const Features& features) {
  ErrorCollector mistakes;
  for (const Error& refusal : RefusalsOf(features)) mistakes.Add(refusal);
  mistakes.ThrowIfAny();
}

bool IsOff(Feature feature, const Features& features) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const Combination& row) {
    return row.first == feature && row.rule == V::kOff && features.Has(row.second) &&
           Counts(row, features);
  });
}

}  // namespace doppio
