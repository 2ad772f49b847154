#include "tools/onnx/verify_onnx.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/file.h"
#include "core/base/random.h"
#include "core/net/net.h"
#include "core/net/plain_blob.h"
#include "tools/array_files.h"
#include "tools/onnx/onnx_layer.h"
#include "tools/onnx/runtime_program.h"
#include "tools/run_program.h"
#include "tools/text_table.h"

namespace doppio {
namespace {

constexpr const char* kGiven = "given/";  // before the names of blobs that take the input

// The layers that the model has, with Input layers in the place of all that make data. What they give is copied first:
// a layer in place may write over a blob, and the input must not be that.
NetSpec RunnableNet(const Graph& graph) {
  NetSpec net = graph.spec;
  net.layers.clear();
  std::set<std::string> made;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    LayerSpec layer = graph.layer(static_cast<int>(i));
    const auto& bottoms = layer.param.bottom();
    if (OnnxMappings::Get().Find(layer.type())->role != OnnxRole::kComputes ||
        !std::all_of(bottoms.begin(), bottoms.end(),
                     [&](const std::string& bottom) { return made.count(bottom) > 0; })) {
      continue;
    }
    made.insert(layer.param.top().begin(), layer.param.top().end());
    if (!graph.nodes[i].bottoms.empty() || !graph.nodes[i].params.empty()) {
      net.layers.push_back(layer);
      continue;
    }
    for (const int top : graph.nodes[i].tops) {
      const Edge& edge = graph.edges[static_cast<size_t>(top)];
      for (const char* type : {"Input", "Split"}) {
        LayerSpec part = layer;
        part.param.Clear();
        part.param.set_name(type + ("/" + edge.name));
        part.param.set_type(type);
        const bool input = type == std::string("Input");
        part.param.add_top(input ? kGiven + edge.name : edge.name);
        if (input) {
          BlobShape* shape = part.param.mutable_input_param()->add_shape();
          for (const int64_t dim : edge.shape.dims()) shape->add_dim(dim);
        } else {
          part.param.add_bottom(kGiven + edge.name);
        }
        net.layers.push_back(part);
      }
    }
  }
  return net;
}

// What the values of an input mean.
struct Meaning {
  int64_t below = 0;           // whole numbers from 0 on, less than this
  double width = 0, height = 0;  // rows of (image, left, top, right, bottom), inside an image of this size
};

Meaning MeaningOf(const Graph& graph, int edge) {
  static const std::set<std::string> movers = {"Concat",  "Dropout", "Flatten", "Permute",
                                               "Reshape", "Slice",   "Split",   "Tile"};
  for (const Use& use : graph.edges[static_cast<size_t>(edge)].uses) {
    const LayerParameter& layer = graph.layer(use.node).param;
    const Node& node = graph.nodes[static_cast<size_t>(use.node)];
    const Shape& first = graph.edges[static_cast<size_t>(node.bottoms[0])].shape;
    if (layer.type() == "Embed") return {layer.embed_param().input_dim()};
    if (layer.type() == "BatchReindex" && use.bottom == 1) return {first[0]};
    if (layer.type() == "ROIPooling" && use.bottom == 1) {
      const double scale = layer.roi_pooling_param().spatial_scale();
      return {first[0], static_cast<double>(first[3]) / scale, static_cast<double>(first[2]) / scale};
    }
    if (movers.count(layer.type()) == 0) continue;
    for (const int top : node.tops) {
      const Meaning meaning = MeaningOf(graph, top);
      if (meaning.below > 0) return meaning;
    }
  }
  return {};
}

std::vector<float> RandomValues(const Shape& shape, const std::string& name, const Meaning& meaning) {
  const Random random(1, Stream("verify", name));
  std::vector<float> values(static_cast<size_t>(shape.count()));
  for (size_t i = 0; i < values.size(); ++i) {
    const double unit = random.Uniform(0, i);
    double value = 2 * unit - 1;
    if (meaning.below > 0) value = std::floor(unit * static_cast<double>(meaning.below));
    if (meaning.width > 0 && i % 5 > 0) {
      // Left and top in the first half, right and bottom in the second.
      const double extent = i % 2 == 1 ? meaning.width : meaning.height;
      value = std::floor((unit + (i % 5 > 2 ? 1 : 0)) * (extent - 1) / 2);
    }
    values[i] = static_cast<float>(value);
  }
  return values;
}

// Runs the net and writes what went in and came out.
void WriteRun(const Graph& graph, ParamStore* params, const OnnxContent& content,
              const std::string& folder) {
  PlanOptions plan;
  plan.device = params->device();
  plan.keep_all = true;
  Net net(MakeGraph(RunnableNet(graph)), plan, params);
  std::vector<NamedArray> inputs, outputs;
  for (size_t i = 0; i < content.inputs.size(); ++i) {
    const Edge& edge = graph.edges[static_cast<size_t>(content.inputs[i])];
    const std::string given = kGiven + edge.name;
    std::vector<float> values = RandomValues(edge.shape, edge.name,
                                             MeaningOf(net.graph(), net.graph().FindEdge(given)));
    WriteTensor(values, net.Blob(given), plan.device);
    inputs.push_back({content.graph.input(static_cast<int>(i)).name(), edge.shape, nullptr, std::move(values)});
  }
  net.Forward();
  for (size_t i = 0; i < content.outputs.size(); ++i) {
    const Edge& edge = graph.edges[static_cast<size_t>(content.outputs[i])];
    PlainBlob blob = ReadTensor(net.Blob(edge.name), plan.device);
    outputs.push_back({content.graph.output(static_cast<int>(i)).name(), blob.shape, nullptr, std::move(blob.data)});
  }
  for (auto* arrays : {&inputs, &outputs}) {
    for (NamedArray& array : *arrays) array.data = array.own.data();
    WriteNpz(folder + (arrays == &inputs ? "/inputs.npz" : "/outputs.npz"), *arrays);
  }
}

[[noreturn]] void Refuse(const std::string& text) {
  throw Error(ExitCode::kDifference, text + "; nothing is written (--noverify writes it all the same)");
}

double NumberIn(const nlohmann::json& output, const char* name) {
  return std::stod(output.at(name).get<std::string>());
}

// What the program has found.
OnnxVerification Judge(const nlohmann::json& result, const Graph& graph, const OnnxContent& content,
                       double tolerance) {
  const std::string runtime = result.value("runtime", "Python");
  if (result.contains("refused")) {
    const std::string text = runtime + " does not take the model: " + result["refused"].get<std::string>();
    if (result.value("judges", false)) Refuse(text);
    return {text, {}};
  }
  OnnxVerification done;
  const nlohmann::json& outputs = result.at("outputs");
  for (size_t i = 0; i < outputs.size(); ++i) {
    const nlohmann::json& output = outputs[i];
    const Shape& shape = graph.edges[static_cast<size_t>(content.outputs[i])].shape;
    const std::string name = output.at("name").get<std::string>();
    const double difference = NumberIn(output, "difference"), largest = NumberIn(output, "largest");
    if (!(difference <= tolerance * std::max(1.0, largest))) {
      Refuse("output '" + name + "' of the model differs from the net's: at " + output.at("at").dump() + " " +
             output.at("theirs").get<std::string>() + " by " + runtime + ", " +
             output.at("ours").get<std::string>() + " here, where the largest value is " +
             Significant(largest, 3) + "; the tolerance is " + Significant(tolerance, 3));
    }
    done.lines.push_back("verified by " + runtime + ": '" + name + "' (" + shape.ToString() +
                         ") differs by " + Significant(difference, 2) + " at most, of values up to " +
                         Significant(largest, 2));
  }
  return done;
}

}  // namespace

std::string MissingRuntime(const std::string& python) {
  const std::optional<int> code = RunProgram({python, "-c", kFindRuntime});
  if (!code) return "there is no program " + python + "; --python names another one";
  if (*code == 0) return "";
  return python + " has neither ONNX Runtime nor OpenCV (pip install onnxruntime, or python3-opencv of Debian); "
                  "--python names another one";
}

OnnxVerification VerifyOnnx(const Graph& graph, ParamStore* params, const OnnxContent& content,
                            const std::string& model, const VerifyOptions& options) {
  const std::string missing = MissingRuntime(options.python);
  if (!missing.empty()) return {missing, {}};
  try {
    WriteRun(graph, params, content, options.folder);
  } catch (const Error& e) {
    return {std::string("the net does not run on random input: ") + e.what(), {}};
  } catch (const std::bad_alloc&) {
    return {"there is not enough memory to run the net", {}};
  }
  const std::optional<int> code = RunProgram({options.python, "-c", kRunModel, options.folder, model,
                                              std::to_string(kRuntimeMinutes)});
  const std::string path = options.folder + "/result.json";
  if (code == -1) {
    return {options.python + " has crashed while it ran the model, or needed more than " +
                std::to_string(kRuntimeMinutes) + " minutes",
            {}};
  }
  if (code != 0 || !FileExists(path)) return {options.python + " has failed to run the model", {}};
  return Judge(nlohmann::json::parse(ReadFile(path)), graph, content, options.tolerance);
}

}  // namespace doppio
