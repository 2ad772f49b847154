#include "tools/nets/describe.h"

#include <algorithm>
#include <sstream>

#include "core/base/bytes.h"
#include "core/math/dnnl_isa.h"
#include "core/net/graph/storage.h"
#include "solvers/update/rule_check.h"
#include "tools/cli/text_table.h"
#include "tools/nets/nets.h"

namespace doppio {
namespace {

std::string NameOf(const Graph& graph) {
  return graph.spec.name.empty() ? "unnamed net" : graph.spec.name;
}

std::string BatchText(const Trainer& trainer, int64_t batch) {
  const int iter_size = trainer.parts().run.schedule.iter_size;
  if (batch == 0) return "no batch";
  if (iter_size == 1) return "batch " + Thousands(batch);
  return "batch " + Thousands(batch) + " × iter_size " + std::to_string(iter_size) + " = " +
         Thousands(batch * iter_size);
}

std::string PrecisionText(Trainer* trainer) {
  const DType stored = StorageOf(trainer->train_net().graph());
  std::string computed = Name(trainer->params().dtype());
  const Device& device = *trainer->params().device();
  if (Is16Bit(stored)) {
    const std::string text = computed + " with activations in " + Name(stored);
    const std::string why = device.properties.host_memory ? WhyNoDnnlProducts(stored) : "";
    return why.empty() ? text : text + " (" + why + ": less memory, but more time than fp32)";
  }
  if (!device.properties.listed) return computed;
  if (device.settings.math == MathMode::kTf32) return computed + " with products in tf32";
  return computed +
         " with products in full single precision (--precision=tf32 or bf16 is faster on a GPU)";
}

// Returns the shape, and the storage type if it is a 16-bit type.
std::string OutputText(const Edge& edge) {
  return edge.shape.ToString() + (Is16Bit(edge.stored) ? std::string(" ") + Name(edge.stored) : "");
}

// Returns " every 100 iterations"; "" for never.
std::string EveryText(const Schedule& schedule, const Recurrence& recurrence) {
  if (recurrence.every == 0) return "";
  std::string text = " every " + (recurrence.every == 1 ? "" : Thousands(recurrence.every) + " ") +
                     (recurrence.epochs ? "epoch" : "iteration") +
                     (recurrence.every == 1 ? "" : "s");
  if (!recurrence.epochs) return text;
  const double iterations = static_cast<double>(recurrence.every * schedule.epoch_samples) /
                            static_cast<double>(schedule.iteration_samples);
  return text + " (" + Fixed(iterations, 1) + " iterations)";
}

void DescribeTestNet(size_t i, const Trainer& trainer, std::vector<std::string>* lines) {
  const Net& test = *trainer.test_nets()[i];
  const Schedule& schedule = trainer.parts().run.schedule;
  std::string line = "test net #" + std::to_string(i) + " " + NameOf(test.graph()) + ": batch " +
                     Thousands(BatchOf(test.graph())) + ", " +
                     std::to_string(schedule.test_iter[i]) + " batches";
  const int64_t last_rows = schedule.last_rows[i];
  if (last_rows > 0) line += ", the last one of " + Thousands(last_rows) + ",";
  line += EveryText(schedule, schedule.test);
  if (trainer.parts().tests.TestsLast()) line += " and after the last one";
  lines->push_back(line);
  const MemoryUse& memory = test.plan().memory;
  lines->push_back("  memory: " + Bytes(memory.activations) + " activations, " +
                   Bytes(memory.scratch) + " workspace" +
                   (memory.kept > 0 ? ", " + Bytes(memory.kept) + " kept" : ""));
}

}  // namespace

std::vector<std::string> DescribeMemory(const MemoryUse& train, int64_t test_bytes,
                                        const std::string& rule, const Device& device,
                                        int64_t free) {
  TextTable table({" memory", ">", "on " + device.name()});
  auto add = [&](const std::string& what, int64_t bytes, const std::string& note) {
    table.Add({"   " + what, Bytes(bytes), note});
  };
  const std::string values = Bytes(train.unpadded_params);
  const auto replicas = [](int64_t bytes) {
    return bytes == 0 ? "" : "with " + Bytes(bytes) + " for replicas of layers";
  };
  const std::string padded =
      values == Bytes(train.params) ? "" : values + " of values; the rest is padding";
  const std::string copies = replicas(train.replica_params);
  add("weights", train.params, padded + (padded.empty() || copies.empty() ? "" : "; ") + copies);
  add("gradients", train.param_grads, replicas(train.replica_grads));
  add("history", train.history,
      "of " + rule +
          (train.history == train.whole_history
               ? ""
               : "; a share of " + Bytes(train.whole_history) + " (--shard_update)"));
  if (train.exchange > 0) add("exchange", train.exchange, "16-bit gradients sent to other ranks");
  add("activations", train.activations,
      "and their gradients; " + Bytes(train.unshared) + " if none shared memory");
  const std::string library = device.properties.algorithm_library;
  add("scratch", train.scratch,
      library.empty() ? ""
                      : "with the workspaces of " + library + ", each up to " +
                            Bytes(device.settings.workspace_bytes));
  if (train.kept > 0) add("kept", train.kept, "by layers from pass to pass");
  if (test_bytes > 0) add("test nets", test_bytes, "");
  add("total", train.total() + test_bytes, free < 0 ? "" : "of " + Bytes(free) + " that were free");
  std::ostringstream text;
  table.Print(text);
  std::vector<std::string> lines;
  std::istringstream rows(text.str());
  for (std::string line; std::getline(rows, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> DescribeTraining(Trainer* trainer, int ranks, int64_t free,
                                          bool all_notes) {
  const Net& net = trainer->train_net();
  const Schedule& schedule = trainer->parts().run.schedule;
  const int64_t batch = net.batch();
  std::vector<std::string> lines;
  lines.push_back("train net " + NameOf(net.graph()) + ": " +
                  std::to_string(net.graph().nodes.size()) + " layers, " +
                  Thousands(ParameterCount(net.graph())) + " parameters, " +
                  BatchText(*trainer, batch) + ", " + PrecisionText(trainer) + ", on " +
                  trainer->params().device()->name());
  int64_t test_bytes = 0;
  for (const auto* nets : {&trainer->test_nets(), &trainer->parts().nets.last_tests()}) {
    for (const auto& test : *nets) test_bytes += test == nullptr ? 0 : test->plan().memory.now();
  }
  const std::vector<std::string> memory =
      DescribeMemory(net.plan().memory, test_bytes, HistoryText(trainer->parts().run.spec.param),
                     *trainer->params().device(), free);
  lines.insert(lines.end(), memory.begin(), memory.end());
  for (const std::string& line : DescribeSaving(net)) lines.push_back("  " + line);
  const LossScaler& scaler = trainer->parts().update.scaler();
  if (!scaler.scaling().off()) {
    lines.push_back("  loss scale " + LossScaleText(scaler.scale()) +
                    (scaler.dynamic() ? ", dynamic" : ""));
  }
  const std::vector<std::string>& notes = net.plan().notes;
  constexpr size_t kShown = 3;
  if (notes.size() > kShown && !all_notes) {
    lines.push_back("  " + std::to_string(notes.size()) + " notes, such as: " + notes[0] +
                    "; --dry_run lists them");
  } else {
    for (const std::string& note : notes) lines.push_back("  note: " + note);
  }
  const SourceSize source = FindSource(net);
  std::string plan = "  " +
                     Thousands(std::max<int64_t>(0, schedule.max_iter - trainer->iteration())) +
                     " iterations from " + Thousands(trainer->iteration()) + ", seed " +
                     std::to_string(trainer->parts().run.seed);
  if (source.samples > 0 && batch > 0) {
    const double samples = static_cast<double>(schedule.max_iter * schedule.iter_size) *
                           static_cast<double>(batch * ranks);
    plan += ", " + Thousands(source.samples) + " samples (" +
            Fixed(samples / static_cast<double>(source.samples), 1) + " epochs in all)";
  }
  lines.push_back(plan);
  for (size_t i = 0; i < trainer->test_nets().size(); ++i) DescribeTestNet(i, *trainer, &lines);
  if (schedule.snapshot.every > 0) {
    lines.push_back("snapshots" + EveryText(schedule, schedule.snapshot) + ": " +
                    trainer->parts().run.spec.param.snapshot_prefix() + "_iter_N");
  }
  return lines;
}

std::vector<std::string> DescribeSaving(const Net& net) {
  const MemorySaved& saved = net.plan().saved;
  const std::string instead = "activations " + Bytes(net.plan().memory.activations) +
                              " instead of " + Bytes(saved.plain_activations);
  std::vector<std::string> lines;
  if (saved.segments > 1) {
    lines.push_back("recompute: " + std::to_string(saved.segments) + " segments, " + instead +
                    ", " + std::to_string(saved.layers_recomputed) +
                    " layers run forward again, +" + Fixed(100 * saved.work_recomputed, 0) +
                    " % multiply-adds of forward");
  }
  if (saved.offloaded > 0) {
    lines.push_back("offload: " + instead + ", " + std::to_string(saved.offloaded) + " values, " +
                    Bytes(saved.host_bytes) + ", wait in host memory");
  }
  return lines;
}

std::string KernelName(const Net& net, size_t node) {
  const int head = net.plan().computed_with[node];
  if (head != static_cast<int>(node)) return "with " + net.graph().layer(head).name();
  const KernelType* type = net.plan().kernel_types[node];
  return type == nullptr ? "view" : type->engine;
}

// Returns why a layer has not another kernel, then the choices that its kernel has made: "winograd:
// its channels do not fill vectors; not better: reference; layouts: blocks of 16 channels
// (jit:avx512_core)".
std::string ChoicesText(const std::vector<CandidateChoice>& choices) {
  std::string text;
  for (const CandidateChoice& choice : choices) {
    const bool of_kernel = &choice == &choices.front();
    const std::string others = choice.Others();
    std::string part = others;
    if (!of_kernel) {
      const CandidateChoice::Row& chosen = choice.rows[choice.chosen];
      part = choice.what + ": " + chosen.name;
      if (!chosen.trial.detail.empty()) part += " (" + chosen.trial.detail + ")";
      if (!others.empty()) part += " [" + others + "]";
    }
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  }
  return text;
}

void PrintKernels(const Net& net, std::ostream& out) {
  TextTable table({"layer", "type", "kernel", "output", "note"});
  for (size_t i = 0; i < net.graph().nodes.size(); ++i) {
    const Node& node = net.graph().nodes[i];
    const LayerSpec& layer = net.graph().layer(static_cast<int>(i));
    table.Add({layer.name(), layer.type(), KernelName(net, i),
               node.tops.empty() ? "" : OutputText(net.graph().edges[node.tops[0]]),
               ChoicesText(net.plan().choices[i])});
  }
  table.Print(out);
}

}  // namespace doppio
