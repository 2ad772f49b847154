#include "tools/verify/verify_form.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/net/spec/prototxt.h"
#include "tools/cli/flags.h"
#include "tools/cli/training_folder.h"
#include "tools/cli/word_list.h"
#include "tools/init/pretrained_files.h"
#include "tools/nets/deploy_net.h"
#include "tools/nets/nets.h"
#include "tools/onnx/net_run.h"
#include "tools/onnx/onnx_layer.h"
#include "tools/onnx_import/node_name.h"

namespace doppio {
namespace {

// Returns the inputs of the model's graph without its constants.
std::vector<const onnx::ValueInfoProto*> InputsOf(const onnx::GraphProto& graph) {
  std::set<std::string> constants;
  for (const onnx::TensorProto& tensor : graph.initializer()) constants.insert(tensor.name());
  std::vector<const onnx::ValueInfoProto*> inputs;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (constants.count(input.name()) == 0) inputs.push_back(&input);
  }
  return inputs;
}

// Adds the layers of the runnable net, without the Input and Split layers that RunnableNet adds.
void AddPoints(const std::vector<std::string>& outputs, VerifyForm* form) {
  const Graph& graph = form->runnable;
  std::map<int, int> point_of;  // by edge
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const LayerSpec& layer = graph.layer(static_cast<int>(i));
    if (node.tops.empty() || TakesInput(layer.type())) continue;
    const Edge& top = graph.edges[node.tops[0]];
    if (layer.param.bottom_size() == 1 && layer.param.bottom(0) == kGivenPrefix + top.name) {
      if (!top.uses.empty()) form->inputs.push_back({top.name, top.shape});
      continue;
    }
    FormPoint point{layer.name(), layer.type(), top.name, layer.At(), static_cast<int>(i)};
    for (const int bottom : node.bottoms) {
      if (point_of.count(bottom) > 0) point.reads.push_back(point_of[bottom]);
    }
    for (const int edge : node.tops) point_of[edge] = static_cast<int>(form->points.size());
    point.last = graph.FindEdge(top.name) == node.tops[0];
    form->points.push_back(point);
  }
  for (const std::string& output : outputs) {
    const auto found = point_of.find(graph.FindEdge(output));
    if (found != point_of.end()) form->outputs.push_back(found->second);
  }
}

// Returns the blobs that nobody reads, not even a Silence layer.
std::vector<std::string> OutputsOf(const Graph& whole, const Graph& runnable) {
  std::set<std::string> silenced;
  for (const LayerSpec& layer : whole.spec.layers) {
    const OnnxMapping* const mapping = FindOnnxMapping(layer.type());
    if (mapping != nullptr && mapping->role == OnnxRole::kSilence)
      silenced.insert(layer.param.bottom().begin(), layer.param.bottom().end());
  }
  std::vector<std::string> outputs;
  for (const int edge : runnable.outputs) {
    if (silenced.count(runnable.edges[edge].name) == 0)
      outputs.push_back(runnable.edges[edge].name);
  }
  return outputs;
}

// Takes the nodes themselves from a model that Doppio cannot run.
void AddNodes(const onnx::GraphProto& graph, VerifyForm* form) {
  for (const onnx::ValueInfoProto* input : InputsOf(graph)) {
    Shape shape;
    for (const auto& dim : input->type().tensor_type().shape().dim())
      shape.push_back(dim.dim_value());
    if (shape.rank() > 0 && shape[0] == 0) shape[0] = 1;
    RefuseIf(shape.count() < 1, "the extents of the input '", input->name(), "' of '",
             form->files.model, "' are open");
    form->inputs.push_back({input->name(), shape});
  }
  std::map<std::string, int> point_of;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.output_size() == 0) continue;
    FormPoint point{WishedName(node), node.op_type(), node.output(0), {}};
    for (const std::string& input : node.input()) {
      if (point_of.count(input) > 0) point.reads.push_back(point_of[input]);
    }
    for (const std::string& output : node.output())
      point_of[output] = static_cast<int>(form->points.size());
    form->points.push_back(point);
  }
  for (const onnx::ValueInfoProto& output : graph.output())
    form->outputs.push_back(point_of[output.name()]);
}

// Builds the net of an imported model.
void AddImported(const ImportedNet& imported, const NetOptions& options, VerifyForm* form) {
  NetParameter text = imported.net;
  for (LayerParameter& layer : *text.mutable_layer()) layer.clear_blobs();
  NetSource source;
  source.places = ParseText(ToPrototxt(text), form->files.model, &source.net);
  source.state.set_phase(TEST);
  WeightsFile weights = WeightsOfModel(imported.net, form->files.model);
  weights.preprocessing = imported.images;
  form->net = std::make_unique<LoadedNet>(MakeGraph(SpecForUse(source, options)), weights);
  form->runnable = MakeGraph(RunnableNet(form->net->graph()));
  AddPoints(imported.outputs, form);
  for (FormInput& input : form->inputs) input.turned = Contains(imported.turned_inputs, input.name);
  for (FormPoint& point : form->points) point.at = {form->files.model};
}

}  // namespace

FormFiles FilesOfForm(const std::string& argument) {
  if (FileExists(argument + "/.")) {
    SolverIn(argument);
    const std::string model = argument + (EndsWith(argument, "/") ? "" : "/") + "deploy.prototxt";
    CheckExists(model);
    const TrainedWeights trained = TrainedWeightsIn(argument);
    LOG(INFO) << "Weights: " << trained.path << " (" << trained.which << ")";
    return {argument, model, {trained.path}};
  }
  if (EndsWith(argument, ".onnx")) {
    CheckExists(argument);
    return {argument, argument, {}};
  }
  // The name of a file may have a plus sign itself.
  size_t plus = argument.find('+');
  for (size_t at = plus; at != std::string::npos; at = argument.find('+', at + 1)) {
    if (!FileExists(argument.substr(0, at))) continue;
    plus = at;
    break;
  }
  FormFiles files{argument, argument.substr(0, plus), {}};
  CheckExists(files.model);
  if (plus != std::string::npos) files.weights = SplitList(argument.substr(plus + 1));
  if (files.weights.empty()) {
    throw UsageError("'", argument,
                     "' names no weights; a form is NET.prototxt+WEIGHTS, a folder made by 'doppio "
                     "init', or NET.onnx");
  }
  for (const std::string& path : files.weights) CheckExists(path);
  return files;
}

int64_t FixedBatch(const std::string& onnx) {
  const onnx::ModelProto model = ReadOnnxModel(onnx);
  const auto inputs = InputsOf(model.graph());
  if (inputs.empty()) return 0;
  const auto& shape = inputs[0]->type().tensor_type().shape();
  return shape.dim_size() > 0 ? std::max<int64_t>(0, shape.dim(0).dim_value()) : 0;
}

VerifyForm ReadForm(const FormFiles& files, const NetFileOptions& options, int64_t batch) {
  VerifyForm form;
  form.files = files;
  NetOptions net = MakeNetOptions({}, "", TEST, DataMode::kAssume);
  net.batch = batch;
  if (!files.onnx()) {
    const NetSource source = LoadNet(options, files.model, TEST);
    NetSpec spec = SpecForUse(source, net);
    ReplaceLosses(&spec);
    form.net = std::make_unique<LoadedNet>(MakeGraph(std::move(spec)), files.weights);
    form.runnable = MakeGraph(RunnableNet(form.net->graph()));
    AddPoints(OutputsOf(form.net->graph(), form.runnable), &form);
  } else {
    const onnx::ModelProto model = ReadOnnxModel(files.model);
    for (const onnx::ValueInfoProto& output : model.graph().output())
      form.model_outputs.push_back(output.name());
    try {
      AddImported(ImportModel(model, DirName(files.model)), net, &form);
    } catch (const Error& e) {
      if (e.code() != ExitCode::kConfig) RethrowWithContext(e, {files.model}, "the model");
      form.net.reset();
      form.why_not = e.what();
      form.inputs.clear();
      form.points.clear();
      form.outputs.clear();
      AddNodes(model.graph(), &form);
    }
  }
  if (form.inputs.empty() || form.outputs.empty())
    throw UserError(SourceLoc{files.model}, "the net has no ",
                    form.inputs.empty() ? "input" : "output", ", so verify cannot compare it");
  return form;
}

}  // namespace doppio
