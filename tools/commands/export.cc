// `export`: converts a trained net to formats of other programs.
#include <algorithm>
#include <iostream>
#include <memory>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/net/contract/layer.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/store/params.h"
#include "core/net/store/weights.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/export/array_files.h"
#include "tools/export/waiting_room.h"
#include "tools/nets/deploy_net.h"
#include "tools/nets/lint.h"
#include "tools/nets/nets.h"
#include "tools/onnx/image_notes.h"
#include "tools/onnx/onnx_layer.h"
#include "tools/onnx/verify_onnx.h"
#include "tools/onnx/write_onnx.h"

namespace doppio {
namespace {

// A net with its weights as single precision values in host memory.
class LoadedNet {
 public:
  LoadedNet(Graph graph, const std::vector<std::string>& weight_files)
      : graph_(std::move(graph)),
        device_(MakeCpuDevice()),
        params_(device_.get(), DType::kFloat32, graph_.spec.options.seed),
        param_index_(params_.Resolve(graph_)) {
    params_.Place(false, {});
    params_.Allocate();
    std::vector<std::string> missing;
    for (size_t i = 0; i < weight_files.size(); ++i) {
      const WeightsFile file = ReadWeights(weight_files[i]);
      const WeightsReport report = CopyWeights(file, graph_, param_index_, &params_);
      if (file.preprocessing) graph_.preprocessing = file.preprocessing;
      LOG(INFO) << "Weights of " << report.copied.size() << " layers read from " << weight_files[i];
      if (i == 0) missing = report.missing;
      const auto found = [&](const std::string& layer) { return !Contains(report.missing, layer); };
      missing.erase(std::remove_if(missing.begin(), missing.end(), found), missing.end());
    }
    RefuseMissing(missing);
    weights_ = WeightsOf(param_index_, params_, false);
    weights_.device = nullptr;
  }

  const Graph& graph() const { return graph_; }
  const WeightTensors& weights() const { return weights_; }
  ParamStore* params() { return &params_; }

 private:
  // Reports layers without values in the files of --weights. A layer that only shares parameters of
  // another layer needs none.
  void RefuseMissing(const std::vector<std::string>& missing) const {
    ErrorCollector mistakes;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const LayerSpec& layer = graph_.layer(static_cast<int>(i));
      const auto& params = graph_.nodes[i].params;
      const bool owner = std::any_of(params.begin(), params.end(), [&](int param) {
        return graph_.params[param].node == static_cast<int>(i);
      });
      if (owner && Contains(missing, layer.name()))
        mistakes.Add(layer.Mistake("", "the files of --weights have no values for it"));
    }
    mistakes.ThrowIfAny();
  }

  Graph graph_;  // includes the preprocessing stored with the weights
  const std::unique_ptr<Device> device_;
  ParamStore params_;
  const std::vector<int> param_index_;
  WeightTensors weights_;
};

// Returns true if the net declares the size of its input. The batch size of a data layer, in
// contrast, only says how many samples it reads at once in training and tests.
bool HasInputLayer(const NetSpec& spec) {
  return std::any_of(spec.layers.begin(), spec.layers.end(),
                     [](const LayerSpec& layer) { return TakesInput(layer.type()); });
}

// Loads the net in phase TEST. If `batch` is 0, the batch size is that of the Input layers, or 1 if
// there are none.
NetSpec SpecFor(const CommandLine& line, int64_t batch) {
  const NetSource source = LoadNet(line.flags, line.flags.model, TEST);
  if (batch == line.flags.batch) LogWarnings(source.warnings);
  NetOptions options = MakeNetOptions(line.flags, line.flags.precision, TEST, DataMode::kAssume);
  options.batch = batch;
  NetSpec spec = MakeNetSpec(source.net, source.places, source.state, options);
  if (batch > 0 || HasInputLayer(spec)) return spec;
  options.batch = 1;
  return MakeNetSpec(source.net, source.places, source.state, options);
}

// Returns for each edge of `graph` whether its first dimension is the batch. `other` is the same
// net with another batch size. Throws an error if the batch size changes any other dimension or a
// parameter.
std::vector<bool> FindBatch(const Graph& graph, const Graph& other) {
  DOPPIO_CHECK(graph.edges.size() == other.edges.size(), "one net, twice");
  std::vector<bool> batch;
  ErrorCollector mistakes;
  for (size_t i = 0; i < graph.edges.size(); ++i) {
    const Shape &a = graph.edges[i].shape, &b = other.edges[i].shape;
    batch.push_back(a != b);
    if (a == b) continue;
    Shape same = b;
    if (same.rank() > 0 && a.rank() > 0) same[0] = a[0];
    if (same == a && a[0] == BatchOf(graph) && b[0] == BatchOf(other)) continue;
    mistakes.Add(
        graph.layer(graph.edges[i].producer)
            .Mistake("", "with " + std::to_string(BatchOf(graph)) + " samples its top '" +
                             graph.edges[i].name + "' is " + a.ToString() + ", with " +
                             std::to_string(BatchOf(other)) + " it is " + b.ToString() +
                             ": the batch is not its first axis, so --dynamic_batch cannot "
                             "leave it open"));
  }
  for (size_t i = 0; i < graph.params.size(); ++i) {
    if (graph.params[i].shape == other.params[i].shape) continue;
    mistakes.Add(
        graph.layer(graph.params[i].node)
            .Mistake("",
                     "its parameter " + graph.params[i].shape.ToString() +
                         " has an extent of the batch, so --dynamic_batch cannot leave it open"));
  }
  mistakes.ThrowIfAny();
  return batch;
}

void ExportOnnx(const CommandLine& line, const std::string& out, bool* began) {
  const auto graph_for = [&](int64_t batch) {
    NetSpec spec = SpecFor(line, batch);
    ReplaceLosses(&spec);
    return MakeGraph(std::move(spec));
  };
  const double tolerance =
      NotNegative("tolerance", line.Given("tolerance") ? line.flags.tolerance : 1e-4);
  LoadedNet net(graph_for(line.flags.batch), SplitList(line.flags.weights));
  std::vector<bool> batch(net.graph().edges.size());
  Graph other;  // the same net with a batch size that does not occur in the file
  if (line.flags.dynamic_batch) {
    other = graph_for(BatchOf(net.graph()) + 1);
    batch = FindBatch(net.graph(), other);
    other.preprocessing = net.graph().preprocessing;
  }
  OnnxOptions options;
  options.dynamic_batch = line.flags.dynamic_batch;
  options.fold_bn = line.flags.fold_bn;
  const OnnxContent content = MakeOnnx(net.graph(), net.weights(), batch, options);
  *began = true;
  const WaitingRoom room(out);
  const bool external =
      WriteOnnx(room.Of(out), content, ImageNotes(net.graph()), line.flags.external_data);
  OnnxVerification verification;
  if (line.flags.verify) {
    verification = VerifyOnnx(line.flags.dynamic_batch ? other : net.graph(), net.params(), content,
                              room.Of(out), {line.flags.python, tolerance, room.path()});
    if (!verification.not_done.empty() && line.Given("verify")) {
      throw FileError("'" + out + "' cannot be verified: " + verification.not_done);
    }
  }
  if (external) room.Release(out + ".data");
  room.Release(out);
  std::cout << out << (external ? " and " + out + ".data" : "") << " written, "
            << content.graph.node_size() << " nodes\n";
  for (const std::string& text : verification.lines) std::cout << text << '\n';
  if (!verification.not_done.empty())
    std::cout << "not verified: " << verification.not_done << '\n';
}

void ExportWeights(const CommandLine& line, const std::string& out, bool* began) {
  const LoadedNet net(MakeGraph(SpecFor(line, line.flags.batch)), SplitList(line.flags.weights));
  const bool safetensors = EndsWith(out, ".safetensors");
  *began = true;
  if (!safetensors && !EndsWith(out, ".npz")) {
    WriteWeights(out, EndsWith(out, ".h5"), net.graph(), net.weights());
  } else {
    std::vector<NamedArray> arrays = NamedArrays(net.graph(), net.weights());
    if (!safetensors) {
      for (NamedArray& array : arrays) array.name = ArchiveName(array.name);
    }
    safetensors ? WriteSafetensors(out, arrays, net.graph().spec.name) : WriteNpz(out, arrays);
  }
  std::cout << out << " written, " << Bytes(FileBytes(out)) << '\n';
}

ExitCode RunExport(const CommandLine& line, bool* began) {
  const std::string& out = line.files[0];
  const auto is = [&](const char* suffix) { return EndsWith(out, suffix); };
  if (!is(".onnx") && !is(".safetensors") && !is(".npz") && !is(".caffemodel") && !is(".h5")) {
    throw UsageError("'" + out + "' should end with .onnx, .safetensors, .npz, .caffemodel or .h5");
  }
  if (is(".onnx")) {
    ExportOnnx(line, out, began);
    return ExitCode::kDone;
  }
  for (const char* flag : {"dynamic_batch", "fold_bn", "external_data", "verify", "tolerance"}) {
    if (line.Given(flag) && (flag != std::string("verify") || line.flags.verify))
      throw UsageError(std::string("--") + flag + " applies only to .onnx files, not to '" + out +
                       "'");
  }
  ExportWeights(line, out, began);
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "export",
    {"exports a trained net as ONNX, or its weights as safetensors, NumPy or Caffe files",
     Words("model weights dynamic_batch fold_bn external_data verify tolerance python "
           "batch level stage set unset"),
     {"model", "weights"},
     "OUT.onnx|OUT.safetensors|OUT.npz|OUT.caffemodel|OUT.h5",
     "doppio export --model=deploy.prototxt --weights=net.caffemodel net.onnx",
     &RunExport});

}  // namespace
}  // namespace doppio
