// `export`: converts a trained net to formats of other programs.
#include <iostream>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/store/weights.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/export/array_files.h"
#include "tools/export/loaded_net.h"
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

// Loads the net for inference with this batch size; 0 is that of the file.
NetSpec SpecFor(const CommandLine& line, int64_t batch) {
  const NetSource source = LoadNet(line.flags, line.flags.model, TEST);
  if (batch == line.flags.batch) LogWarnings(source.warnings);
  NetOptions options = MakeNetOptions(line.flags, line.flags.precision, TEST, DataMode::kAssume);
  options.batch = batch;
  return SpecForUse(source, options);
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
