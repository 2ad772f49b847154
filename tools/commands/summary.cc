// `summary`: shows the layers of a net with their shapes, parameters, multiply-adds and memory.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/bytes.h"
#include "core/net/plan/plan.h"
#include "tools/cli/command.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/nets/nets.h"
#include "tools/nets/reserved_device.h"
#include "tools/timing/layer_detail.h"

namespace doppio {
namespace {

constexpr const char* kNothing = "–";

struct Row {
  std::string name, type, output, from;
  std::string device;  // "" unless layers are placed on several devices
  std::vector<int64_t> output_shape;
  int64_t params = 0;
  bool shares = false;      // uses parameters that another layer owns
  int64_t macs = 0;         // multiply-adds of a batch
  int64_t activations = 0;  // bytes of a batch
};

// Returns a shape without its batch dimension.
std::string PerImage(const Shape& shape) {
  std::vector<std::string> extents;
  for (int axis = 1; axis < shape.rank(); ++axis) extents.push_back(std::to_string(shape[axis]));
  return extents.empty() ? "1" : Join(extents, "×");
}

Row MakeRow(const Graph& graph, int index) {
  const Node& node = graph.nodes[index];
  const LayerSpec& layer = graph.layer(index);
  Row row;
  if (graph.places.size() > 1) row.device = graph.places[node.place];
  row.name = layer.name();
  row.type = layer.type() + LayerDetail(layer.param);
  std::vector<std::string> from;
  for (int bottom : node.bottoms) from.push_back(graph.edges[bottom].name);
  if (from.empty()) {
    for (const std::string& top : layer.param.top()) from.push_back("→ " + top);
  }
  row.from = Join(from, ", ");
  bool in_place = false;
  for (size_t i = 0; i < node.tops.size(); ++i) {
    const Edge& top = graph.edges[node.tops[i]];
    const bool same = i < node.bottoms.size() && graph.edges[node.bottoms[i]].name == top.name;
    in_place = in_place || same;
    if (!same && node.shape.view == View::kNone) {
      row.activations += top.shape.count() * ElementBytes(DType::kFloat32);
    }
    if (i == 0) {
      row.output_shape = top.shape.dims();
      row.output = PerImage(top.shape);
    }
  }
  if (in_place) row.output += " (in place)";
  for (int param : node.params) {
    const GraphParam& p = graph.params[param];
    if (p.node == index) {
      row.params += p.shape.count();
    } else {
      row.shares = true;
    }
  }
  row.macs = node.shape.macs;
  return row;
}

struct Memory {
  MemoryUse use;
  std::string unknown;  // why there is no plan
};

// Returns the memory of a plan on the CPU. The plan is made on reserved memory, without data.
Memory PlanMemory(Graph graph, bool backward) {
  Memory memory;
  for (LayerSpec& layer : graph.spec.layers) layer.options.data = DataMode::kSynthetic;
  const std::unique_ptr<Device> device = MakeReservedDevice();
  ErrorCollector errors;
  errors.Try([&] {
    ParamStore params(device.get(), DType::kFloat32, 1);
    PlanOptions options;
    options.device = device.get();
    options.backward = backward;
    options.runs = false;
    // A net does not say whether the solver uses iter_size, clip_gradients or the like, so none is
    // assumed.
    options.accumulate = false;
    options.gradients_consumed = backward && !graph.spec.debug_info;
    memory.use = MakePlan(graph, options, &params)->memory;
  });
  if (!errors.empty()) memory.unknown = errors.errors()[0].what();
  return memory;
}

void PrintText(const std::vector<Row>& rows, const Memory& memory, int64_t batch, bool train) {
  const double images = static_cast<double>(std::max<int64_t>(1, batch));
  auto mmacs = [&](int64_t macs) {
    return macs == 0 ? kNothing : Fixed(static_cast<double>(macs) / images / 1e6, 3);
  };
  auto kilobytes = [&](int64_t bytes) -> std::string {
    const double value = static_cast<double>(bytes) / images / 1024;
    if (value < 0.005) return kNothing;
    return Fixed(value, value < 0.1 ? 2 : 1);
  };
  const bool placed = !rows.empty() && !rows[0].device.empty();
  std::vector<std::string> heads = {"layer",     "type",        "output", ">params",
                                    ">MMAC/img", ">act KB/img", "from"};
  if (placed) heads.insert(heads.begin() + 2, "device");
  TextTable table(heads);
  const auto add = [&](std::vector<std::string> cells, const std::string& device) {
    if (placed) cells.insert(cells.begin() + 2, device);
    table.Add(cells);
  };
  Row total;
  for (const Row& row : rows) {
    add({row.name, row.type, row.output,
         row.params > 0 ? Thousands(row.params)
         : row.shares   ? "shared"
                        : kNothing,
         mmacs(row.macs), kilobytes(row.activations), row.from},
        row.device);
    total.params += row.params;
    total.macs += row.macs;
    total.activations += row.activations;
  }
  add({"total", "", "", Thousands(total.params), mmacs(total.macs), kilobytes(total.activations),
       ""},
      "");
  table.Print(std::cout);
  std::cout << "memory at batch " << batch << ": ";
  if (!memory.unknown.empty()) {
    std::cout << "unknown, because the net cannot run here: " << memory.unknown << '\n';
  } else {
    const MemoryUse& use = memory.use;
    std::cout << Bytes(use.activations) << " activations" << (train ? " and their gradients" : "")
              << " (" << Bytes(use.unshared) << " if none shared memory) + " << Bytes(use.params)
              << " parameters";
    if (train) {
      std::cout << " + " << Bytes(use.param_grads) << " gradients + " << Bytes(use.params)
                << " momentum";
    }
    std::cout << " + " << Bytes(use.scratch) << " workspace";
    if (use.kept > 0) std::cout << " + " << Bytes(use.kept) << " kept from pass to pass";
    std::cout << '\n';
  }
  std::cout << "(MAC = multiply-add; FLOPs ≈ 2 × MAC; values are 4 bytes each)\n";
}

void PrintJson(const Graph& graph, const std::vector<Row>& rows, const Memory& memory,
               int64_t batch) {
  nlohmann::json out;
  out["net"] = graph.spec.name;
  out["batch"] = batch;
  out["layers"] = nlohmann::json::array();
  int64_t params = 0, macs = 0, activations = 0;
  for (const Row& row : rows) {
    out["layers"].push_back({{"name", row.name},
                             {"type", row.type},
                             {"output", row.output_shape},
                             {"params", row.params},
                             {"macs", row.macs},
                             {"activation_bytes", row.activations}});
    if (!row.device.empty()) out["layers"].back()["device"] = row.device;
    params += row.params;
    macs += row.macs;
    activations += row.activations;
  }
  out["params"] = params;
  out["macs"] = macs;
  out["activation_bytes"] = activations;
  if (memory.unknown.empty()) {
    out["memory"] = {{"parameters", memory.use.params},       {"gradients", memory.use.param_grads},
                     {"activations", memory.use.activations}, {"unshared", memory.use.unshared},
                     {"workspace", memory.use.scratch},       {"kept", memory.use.kept}};
  } else {
    out["memory"] = nullptr;
    out["memory_unknown_because"] = memory.unknown;
  }
  std::cout << JsonText(out) << '\n';
}

ExitCode RunSummary(const CommandLine& line, bool* began) {
  const Phase phase = PhaseOr(line.flags.phase, TRAIN);
  const Graph graph = MakeNamedNet(line.flags, MakeNetOptions(line.flags, line.flags.precision,
                                                              phase, DataMode::kAssume))
                          .graph;
  *began = true;
  std::vector<Row> rows;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    rows.push_back(MakeRow(graph, static_cast<int>(i)));
  const int64_t batch = BatchOf(graph);
  const Memory memory = PlanMemory(graph, phase == TRAIN);
  if (line.flags.json) {
    PrintJson(graph, rows, memory, batch);
  } else {
    PrintText(rows, memory, batch, phase == TRAIN);
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "summary",
                {"shows the layers of a net: shapes, parameters, multiply-adds, memory",
                 Words("model solver place phase batch max_pixels level stage set unset json"),
                 {"model|solver"},
                 "",
                 "doppio summary --model=models/lenet/train_val.prototxt",
                 &RunSummary});

}  // namespace
}  // namespace doppio
