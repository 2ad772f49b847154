#include "tools/cluster/same_training.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/host_name.h"
#include "core/net/store/solver_state.h"
#include "parallel/world/process_world.h"
#include "solvers/trainer/schedule.h"
#include "tools/cli/flags.h"
#include "tools/nets/flat_settings.h"

namespace doppio {
namespace {

// Flags that determine what a rank computes, or when it exchanges data.
constexpr const char* kSameFlags[] = {
    "batch",     "batch_mode",      "bucket_mb",  "check_replicas",
    "comm",      "early_stop",      "elastic",    "hierarchical",
    "keep_best", "level",           "loss_scale", "lr_warmup",
    "monitor",   "on_nan",          "precision",  "reduce_precision",
    "scale_lr",  "shard_update",    "stage",      "sync_bn",
    "synthetic", "trace_iterations"};

// Returns true for fields that name a file or a folder. Their contents are compared by size
// instead.
bool IsPlace(const std::string& path) {
  static const std::set<std::string> places = {
      "device_id", "label_map_file", "labels",           "mean_file",       "name_size_file",
      "net",       "root_folder",    "output_directory", "snapshot_prefix", "source",
      "test_net",  "train_net",      "weights"};
  return places.count(path.substr(path.find_last_of(". ") + 1)) > 0;
}

void AddSettings(const google::protobuf::Message& message, const std::string& prefix,
                 Facts* facts) {
  FlatSettings settings;
  AddFlat(message, prefix, &settings);
  for (const auto& [path, value] : settings) {
    if (!IsPlace(path)) (*facts)[path] = value;
  }
}

std::string ChecksumText(uint32_t crc) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", crc);
  return text;
}

void ThrowIfDifferent(Communicator* control, const Facts& facts) {
  const std::string difference = DifferenceFromRankZero(control, HostName(), facts);
  if (difference.empty()) return;
  throw MixedRanks("the ranks would not train the same: " + difference +
                   ". All ranks need the same command line, files and data");
}

}  // namespace

Facts SettingsOfTraining(const CommandLine& line, const SolverSpec& solver) {
  Facts facts;
  AddSettings(solver.param, "solver ", &facts);
  AddSettings(solver.train.net, "net.", &facts);
  for (size_t i = 0; i < solver.tests.size(); ++i)
    AddSettings(solver.tests[i].net, "test net #" + std::to_string(i) + " ", &facts);
  for (const char* flag : kSameFlags)
    facts["--" + std::string(flag)] = FindFlag(flag)->text(line.flags);
  facts["--gpu"] = line.flags.gpu.empty() ? "not given" : "given";
  facts["--trace"] = line.flags.trace.empty() ? "not given" : "given";
  return facts;
}

Sha256Digest DigestOf(const Facts& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += name + '\0' + value + '\0';
  return Sha256(text);
}

void CheckSameTraining(Facts settings, Communicator* control, const std::string& resume) {
  settings["the first iteration"] =
      std::to_string(resume.empty() ? 0 : ReadSolverState(resume).iter);
  if (!resume.empty())
    settings["the checksum of '" + resume + "'"] = ChecksumText(SumOf(resume).crc);
  ThrowIfDifferent(control, settings);
}

void CheckSameData(Communicator* control, Trainer* trainer) {
  Facts facts;
  const auto add = [&](const std::string& net, const SourceSize& source) {
    facts["the number of samples of " + net] = std::to_string(source.samples);
    facts["the batch of " + net] = std::to_string(source.batch);
  };
  add("the train net", FindSource(trainer->train_net()));
  for (size_t i = 0; i < trainer->test_nets().size(); ++i)
    add("test net #" + std::to_string(i), FindSource(*trainer->test_nets()[i]));
  facts["max_iter"] = std::to_string(trainer->parts().run.schedule.max_iter);
  std::string layouts;
  for (const Param& param : trainer->params().params()) {
    facts["the shape of parameter " + std::to_string(param.index) + " of layer '" + param.layer +
          "'"] = param.shape.ToString();
    layouts += param.value.layout.descriptor();
  }
  // Rank 0's weights are copied in their memory layout, so all ranks need the same layout.
  facts["the memory layout of the weights, which the kind of CPU decides,"] =
      ChecksumText(Crc32c(layouts.data(), layouts.size()));
  ThrowIfDifferent(control, facts);
}

}  // namespace doppio
