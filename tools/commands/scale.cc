// `scale`: predicts how a net's training scales, from the times of one rank and the speed of the
// links between ranks.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/content/parsed_json.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "parallel/gpu/links.h"
#include "parallel/reduce/bucket_size.h"
#include "parallel/reduce/link_timer.h"
#include "parallel/reduce/scaling_model.h"
#include "tools/cli/command.h"
#include "tools/cli/features.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/cluster/job_flags.h"
#include "tools/cluster/joined.h"
#include "tools/cluster/replicas.h"
#include "tools/nets/devices.h"
#include "tools/nets/nets.h"
#include "tools/pages/scaling_plot.h"
#include "tools/timing/net_timer.h"
#include "tools/timing/net_times.h"

namespace doppio {
namespace {

constexpr int kMostRanks = 1 << 20;

const std::pair<const char*, Topology> kTopologies[] = {{"ring", Topology::kRing},
                                                        {"tree", Topology::kTree},
                                                        {"hierarchical", Topology::kHierarchical}};

ScalingOptions ScalingFromFlags(const CommandLine& line) {
  ScalingOptions options;
  std::vector<std::string> names;
  for (const auto& [name, topology] : kTopologies) {
    names.push_back(name);
    if (line.flags.topology == name) options.cluster.topology = topology;
  }
  CheckValue("topology", line.flags.topology, names);
  InRange("max_ranks", line.flags.max_ranks, 1, kMostRanks);
  options.cluster.inside = ParseLink("inside", line.flags.inside);
  options.cluster.across = ParseLink("across", line.flags.across);
  options.cluster.ranks_per_node = RanksPerNode(line, 4);
  const ReducerOptions buckets = MakeReducerOptions(line.flags);
  options.bucket_bytes = buckets.bucket_bytes;
  options.reduce_bits = static_cast<int>(8 * ElementBytes(buckets.type));
  options.shard_update = line.flags.shard_update;
  return options;
}

nlohmann::json ReadTimes(const CommandLine& line) {
  for (const char* flag : {"model", "solver", "batch", "images_per_s"}) {
    if (!line.Given(flag)) continue;
    throw UsageError(
        std::string("--times already determines the net, the batch and the times; leave out --") +
        flag);
  }
  return ParseJson(ReadFile(line.flags.times), line.flags.times);
}

int64_t GradientBytes(const RankTimes& times) {
  int64_t values = 0;
  for (const BackwardPiece& piece : times.backward) {
    for (const int64_t count : piece.gradients) values += count;
  }
  return values * 4;
}

// If several ranks run, replaces the assumed link between them by a measured one, unless it is
// given as a flag. Sums are as long as those of a training with `gradient_bytes` of gradients.
void MeasureCluster(const CommandLine& line, const World& world, Device* device,
                    int64_t gradient_bytes, const Compute& compute, Cluster* cluster) {
  const int hosts = CountHosts(world);
  const bool one_node = hosts == 1;
  if (line.Given(one_node ? "inside" : "across")) return;
  if (!one_node && hosts < world.size()) {
    throw UsageError("with " + std::to_string(world.size()) + " ranks on " + std::to_string(hosts) +
                     " machines, the links inside and between machines cannot be measured apart; "
                     "start one rank per machine, start all ranks on one machine, or give --inside "
                     "and --across");
  }
  LOG(INFO) << "Measuring the link between " << world.size() << " ranks on " << hosts
            << " machine(s).";
  const int64_t given = MakeReducerOptions(line.flags).bucket_bytes;
  const int64_t bucket =
      given == kAutoBucketBytes ? ScalingOptions().bucket_bytes : std::max<int64_t>(given, 1 << 20);
  const int64_t bytes = std::min(bucket, gradient_bytes);
  (one_node ? cluster->inside : cluster->across) =
      MeasureLink(world, device, cluster->topology, one_node, bytes, compute);
  if (!one_node && !line.Given("ranks_per_node")) cluster->ranks_per_node = 1;
}

// Returns how many times longer the ranks compute than the times in `timing`, which are medians: if
// ranks share cores, most iterations run undisturbed, and some wait for the time slices of others.
// Collective; takes seconds.
double SlowdownByOthers(const World& world, NetTimer* timer, const Timing& timing) {
  constexpr double kSeconds = 2;
  world.control().Barrier();
  const auto begun = std::chrono::steady_clock::now();
  const double alone_ms =
      timer->ComputeWhile(timing, [&] { return SecondsSince(begun) < kSeconds; });
  double slowdown = alone_ms > 0 ? 1e3 * SecondsSince(begun) / alone_ms : 1;
  world.control().AllReduce(&slowdown, 1, DType::kFloat64);
  return std::max(1.0, slowdown / world.size());
}

// Multiplies all times in the output of `time`.
void Stretch(double factor, nlohmann::json* times) {
  for (const char* key : {"iteration_ms", "forward_ms", "backward_ms", "update_ms"})
    (*times)[key] = times->at(key).get<double>() * factor;
  for (nlohmann::json& layer : (*times)["layers"])
    layer["backward_ms"] = layer.at("backward_ms").get<double>() * factor;
}

Graph GraphOf(const CommandLine& line, DataMode data) {
  const NetOptions options = MakeNetOptions(line.flags, line.flags.precision, TRAIN, data);
  return MakeNamedNet(line.flags, options).graph;
}

// Times an iteration. Returns the times of rank 0 if there are several ranks.
nlohmann::json Measure(const CommandLine& line, const Replicas& replicas, Cluster* cluster,
                       bool* began) {
  AtLeast("iterations", line.flags.iterations, 1);
  nlohmann::json times;
  RunReplicas(replicas, [&](World* world, Device* device) {
    const bool lead = world == nullptr || world->rank() == replicas.first_rank;
    NetTimer timer(GraphOf(line, DataMode::kOpen), MakePlanOptions(line.flags, device),
                   line.flags.weights);
    if (timer.net().plan().backward.empty())
      throw UsageError("the net has no loss, so training would exchange no gradients");
    if (lead) {
      *began = true;
      LOG(INFO) << "Timing " << line.flags.iterations << " iterations of one rank.";
    }
    timer.Start();
    if (world != nullptr) world->control().Barrier();
    const Timing timing = timer.Run(line.flags.warmup, line.flags.iterations);
    nlohmann::json own = ToJson(timer.net(), timing, line.flags.iterations);
    const double slowdown = world == nullptr ? 1 : SlowdownByOthers(*world, &timer, timing);
    Stretch(slowdown, &own);
    if (lead) times = own;
    if (world == nullptr) return;
    Cluster measured = *cluster;
    MeasureCluster(
        line, *world, device, GradientBytes(ToRankTimes(own, "")),
        [&](const auto& going) { return slowdown * timer.ComputeWhile(timing, going); }, &measured);
    world->control().Barrier();  // all ranks have finished reading *cluster
    if (lead) *cluster = measured;
  });
  return times;
}

// Returns the times of a rank that trains --images_per_s. The data of the net is not read.
nlohmann::json TimesFromRate(const CommandLine& line) {
  const double rate = line.flags.images_per_s;
  if (!(std::isfinite(rate) && rate > 0))
    throw UsageError("--images_per_s needs a number above 0; got " + Significant(rate));
  return TimesAtRate(GraphOf(line, DataMode::kAssume), rate);
}

// Returns true if the times of one rank are given, so that nothing is measured.
bool TimesGiven(const CommandLine& line) {
  return line.Given("times") || line.Given("images_per_s");
}

// Describes a link. `flag` is shown as its name if it is the name of a preset with these values.
std::string LinkText(const std::string& flag, const Link& link) {
  std::string text = Fixed(link.latency_us, 1) + " us, " + Fixed(link.gbytes_per_s, 2) + " GB/s";
  if (link.held_up_ms_per_gbyte > 0)
    text += ", delays computation by " + Fixed(link.held_up_ms_per_gbyte, 0) + " ms per GB";
  for (const LinkPreset& preset : LinkPresets()) {
    const bool same =
        preset.link.latency_us == link.latency_us && preset.link.gbytes_per_s == link.gbytes_per_s;
    if (flag == preset.name && same) return flag + " (" + text + ")";
  }
  return text;
}

void PrintText(const PredictionOptions& asked, const nlohmann::json& one, const RankTimes& times,
               const ScalingOptions& options, const std::vector<ScalingPoint>& points) {
  const bool chosen = options.bucket_bytes == kAutoBucketBytes;
  double backward_ms = 0;
  for (const BackwardPiece& piece : times.backward) backward_ms += piece.ms;
  std::cout << one.at("net").get<std::string>() << " on " << one.at("device").get<std::string>()
            << ", batch " << Thousands(times.batch) << " per rank: iteration "
            << Fixed(points[0].iteration_ms, 2) << " ms = forward " << Fixed(times.forward_ms, 2)
            << " + backward " << Fixed(backward_ms, 2) << " + update " << Fixed(times.update_ms, 2)
            << '\n'
            << Bytes(GradientBytes(times)) << " of gradients, " << options.reduce_bits
            << " bits per value on the links, "
            << (chosen ? "buckets chosen for each number of ranks"
                       : "buckets of " + Bytes(options.bucket_bytes) + " or more")
            << (options.shard_update ? "; each rank updates a share of the weights" : "") << '\n'
            << asked.topology << ": ";
  if (options.cluster.ranks_per_node == 1) {
    std::cout << "one rank per node, ";
  } else {
    std::cout << LinkText(asked.inside, options.cluster.inside) << " inside nodes of "
              << options.cluster.ranks_per_node << " ranks, ";
  }
  std::cout << LinkText(asked.across, options.cluster.across) << " across\n\n";
  TextTable table({">ranks", ">images/s", ">speed-up", ">efficiency %", ">communication ms",
                   ">exposed ms", "bound by"});
  for (const ScalingPoint& p : points) {
    table.Add({std::to_string(p.ranks), Fixed(p.images_per_s, 1), Fixed(p.speedup, 2),
               Fixed(100 * p.efficiency, 1), Fixed(p.communication.total_ms(), 2),
               Fixed(p.exposed_ms, 2), p.bound});
  }
  table.Print(std::cout);
}

double InMb(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

nlohmann::json ToJson(const Link& link) {
  return {{"latency_us", link.latency_us},
          {"gbytes_per_s", link.gbytes_per_s},
          {"held_up_ms_per_gbyte", link.held_up_ms_per_gbyte}};
}

nlohmann::json ToJson(const CommandLine& line, const nlohmann::json& one, const RankTimes& times,
                      const ScalingOptions& options, const std::vector<ScalingPoint>& points) {
  nlohmann::json out;
  out["net"] = one.at("net");
  out["device"] = one.at("device");
  out["batch"] = times.batch;
  out["gradient_bytes"] = GradientBytes(times);
  out["topology"] = line.flags.topology;
  out["inside"] = ToJson(options.cluster.inside);
  out["across"] = ToJson(options.cluster.across);
  out["ranks_per_node"] = options.cluster.ranks_per_node;
  out["bucket_mb"] = options.bucket_bytes == kAutoBucketBytes
                         ? nlohmann::json("auto")
                         : nlohmann::json(InMb(options.bucket_bytes));
  out["reduce_precision"] = line.flags.reduce_precision;
  out["shard_update"] = options.shard_update;
  out["points"] = nlohmann::json::array();
  for (const ScalingPoint& p : points) {
    out["points"].push_back({{"ranks", p.ranks},
                             {"iteration_ms", p.iteration_ms},
                             {"images_per_second", p.images_per_s},
                             {"speedup", p.speedup},
                             {"efficiency", p.efficiency},
                             {"bucket_mb", InMb(p.bucket_bytes)},
                             {"communication_ms", p.communication.total_ms()},
                             {"latency_ms", p.communication.latency_ms},
                             {"inside_ms", p.communication.inside_ms},
                             {"across_ms", p.communication.across_ms},
                             {"held_up_ms", p.communication.held_up_ms},
                             {"exposed_ms", p.exposed_ms},
                             {"update_ms", p.update_ms},
                             {"bound", p.bound}});
  }
  return out;
}

// Returns the name of a curve, such as "pcie3 inside nodes of 4 ranks, 10gbe across".
std::string FabricText(const std::string& inside, const std::string& across, int ranks_per_node) {
  if (ranks_per_node == 1) return across + " between nodes of one rank";
  return inside + " inside nodes of " + std::to_string(ranks_per_node) + " ranks, " + across +
         " across";
}

// Checks --plot and --fabric. Returns one cluster for each curve, by its name.
std::vector<std::pair<std::string, Cluster>> FabricsOf(const PredictionOptions& flags,
                                                       const Cluster& cluster) {
  std::vector<std::pair<std::string, Cluster>> fabrics;
  if (flags.plot.empty()) {
    if (flags.fabric.empty()) return fabrics;
    throw UsageError("--fabric is a curve of --plot; add --plot, such as --plot=scaling.svg");
  }
  constexpr size_t kEnding = 4;
  if (flags.plot.size() <= kEnding ||
      Lower(flags.plot.substr(flags.plot.size() - kEnding)) != ".svg")
    throw UsageError("--plot needs the name of an SVG file, such as scaling.svg; got '" +
                     flags.plot + "'");
  for (const std::string& fabric : flags.fabric) {
    const size_t plus = fabric.find('+');
    if (plus == std::string::npos)
      throw UsageError("--fabric needs INSIDE+ACROSS, such as nvlink3+infiniband_hdr; got '" +
                       fabric + "'");
    const std::string inside = fabric.substr(0, plus), across = fabric.substr(plus + 1);
    Cluster other = cluster;
    other.inside = ParseLink("fabric", inside);
    other.across = ParseLink("fabric", across);
    fabrics.emplace_back(FabricText(inside, across, cluster.ranks_per_node), other);
  }
  if (fabrics.empty())
    fabrics.emplace_back(FabricText(flags.inside, flags.across, cluster.ranks_per_node), cluster);
  return fabrics;
}

void WritePlot(const CommandLine& line, const nlohmann::json& one, const RankTimes& times,
               ScalingOptions options, const std::vector<int>& ranks) {
  std::vector<ScalingLine> lines;
  for (const auto& [name, cluster] : FabricsOf(line.flags, options.cluster)) {
    options.cluster = cluster;
    lines.push_back({name, PredictScaling(times, options, ranks)});
  }
  if (lines.empty()) return;
  const double alone = PredictScaling(times, options, {1})[0].images_per_s;
  WriteFileAtomically(
      line.flags.plot,
      MakeScalingPlot("Predicted efficiency of " + one.at("net").get<std::string>() + ", batch " +
                          Thousands(times.batch) + " per rank, " + Rate(alone) +
                          " images/s on one rank",
                      lines));
}

ExitCode Scale(const CommandLine& line, bool* began, ProcessWorld* world, CommonEnd* end) {
  ScalingOptions options = ScalingFromFlags(line);
  FabricsOf(line.flags, options.cluster);  // reports mistakes before a measurement
  Replicas replicas;
  if (!TimesGiven(line)) {
    CheckCombinations(FeaturesOf(line));
    replicas = OpenReplicas(line.flags, line.flags, line.flags, world, end);
  }
  std::optional<QuietLog> quiet;
  if (replicas.process_rank != 0) quiet.emplace();
  const nlohmann::json one = line.Given("times") ? ReadTimes(line)
                             : line.Given("images_per_s")
                                 ? TimesFromRate(line)
                                 : Measure(line, replicas, &options.cluster, began);
  if (quiet) return ExitCode::kDone;
  const RankTimes times = ToRankTimes(one, line.flags.times);
  std::vector<int> ranks;
  for (int n = 1; n <= line.flags.max_ranks; n *= 2) ranks.push_back(n);
  const std::vector<ScalingPoint> points = PredictScaling(times, options, ranks);
  WritePlot(line, one, times, options, ranks);
  if (line.flags.json) {
    std::cout << JsonText(ToJson(line, one, times, options, points)) << '\n';
  } else {
    PrintText(line.flags, one, times, options, points);
  }
  return ExitCode::kDone;
}

ExitCode RunScale(const CommandLine& line, bool* began) {
  CommonEnd end;
  return RunJoined(line.flags, !TimesGiven(line), began, &end,
                   [&](ProcessWorld* world) { return Scale(line, began, world, &end); });
}

DOPPIO_REGISTER(
    Commands, "scale",
    {"predicts the speed of training on many ranks from the times of one rank",
     Words("model solver times images_per_s inside across ranks_per_node topology bucket_mb "
           "reduce_precision shard_update max_ranks plot fabric iterations warmup synthetic batch "
           "weights gpu "
           "cpu_replicas comm stall_timeout silence_timeout precision workspace_mb "
           "deterministic cuda_graph level stage set unset threads data_threads max_pixels seed "
           "engine fusion winograd recompute offload launcher interface mpi_library json"),
     {"model|solver|times"},
     "",
     "doppio scale --model=models/resnet50/train_val.prototxt --synthetic --across=infiniband_hdr",
     &RunScale});

}  // namespace
}  // namespace doppio
