#include "tools/onnx_import/import_onnx.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/checked_product.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tools/onnx_import/constant_ops.h"
#include "tools/onnx_import/import_graph.h"
#include "tools/onnx_import/import_node.h"
#include "tools/onnx_import/node_patterns.h"
#include "tools/onnx_import/turned_images.h"

namespace doppio {
namespace {

// Opsets that import reads. The operators of older ones have other attributes; later ones may
// change operators.
constexpr int kOldestOpset = 7, kNewestOpset = 25;

int OpsetOf(const onnx::ModelProto& model) {
  for (const onnx::OperatorSetIdProto& opset : model.opset_import()) {
    if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
    if (opset.version() >= kOldestOpset && opset.version() <= kNewestOpset)
      return static_cast<int>(opset.version());
    throw UserError({}, "the model has opset ", opset.version(), "; import reads opsets ",
                    kOldestOpset, " to ", kNewestOpset);
  }
  throw FileError("it names no ONNX opset");
}

bool IsOpen(const onnx::TensorShapeProto::Dimension& dim) { return dim.dim_value() <= 0; }

// Returns the shape of an input, whose first extent becomes `batch` if it is open. Throws UserError
// if another extent is open.
Shape InputShape(const onnx::ValueInfoProto& input, int64_t batch) {
  const onnx::TypeProto::Tensor& tensor = input.type().tensor_type();
  if (!tensor.has_shape())
    throw UserError({}, "the model does not say which shape its input '", input.name(), "' has");
  Shape shape;
  for (const onnx::TensorShapeProto::Dimension& dim : tensor.shape().dim()) {
    const bool open = IsOpen(dim);
    if (open && shape.rank() > 0) {
      throw UserError({}, "axis ", shape.rank(), " of the input '", input.name(),
                      "' has no fixed extent",
                      dim.dim_param().empty() ? "" : ", but '" + dim.dim_param() + "'",
                      "; export the model with a fixed size of images");
    }
    shape.push_back(open ? batch : dim.dim_value());
  }
  if (!CheckedProduct(shape.dims()))
    throw UserError({}, "the input '", input.name(), "' is ", shape.ToString());
  return shape;
}

// Adds the layers of one node. Throws UserError.
void Import(const onnx::NodeProto& proto, ImportGraph* graph) {
  const ImportNode node(proto, graph);
  const bool own = proto.domain().empty() || proto.domain() == "ai.onnx";
  if (!own) node.Refuse("Doppio has no operators of '", proto.domain(), "'");
  if (!FoldConstants(node)) {
    const OnnxImport* const import = OnnxImports::Get().Find(node.op());
    if (import == nullptr)
      node.Refuse("Doppio has no layer for this operator; docs/import.md lists those that it has");
    import->import(node);
  }
  node.attributes.CheckAllKnown();
}

// Adds all nodes. Throws one error for all that Doppio cannot compute. Nodes behind these have no
// error of their own.
void ImportNodes(const onnx::GraphProto& from, ImportGraph* graph) {
  ErrorCollector mistakes;
  std::set<std::string> lost;  // values behind a mistake
  const NodePatterns patterns = FindPatterns(from);
  for (const onnx::NodeProto& stored : from.node()) {
    if (patterns.others.count(&stored) > 0) continue;
    const auto whole = patterns.last.find(&stored);
    const onnx::NodeProto& node = whole != patterns.last.end() ? whole->second : stored;
    bool reaches = false;
    for (const std::string& input : node.input()) reaches |= lost.count(input) > 0;
    if (!reaches && mistakes.Try([&] { Import(node, graph); })) continue;
    lost.insert(node.output().begin(), node.output().end());
  }
  mistakes.ThrowIfAny();
}

// Returns the net of a model, whose inputs have the extent `batch` where their first one is open.
ImportedNet ImportWith(int64_t batch, const onnx::ModelProto& model, const std::string& folder) {
  const onnx::GraphProto& from = model.graph();
  if (from.node_size() == 0) throw FileError("it has no graph with nodes");
  ImportGraph graph(from, OpsetOf(model));
  for (const onnx::TensorProto& tensor : from.initializer()) {
    if (graph.Find(tensor.name()) != nullptr)
      throw UserError({}, "the model has two constants '", tensor.name(), "'");
    graph.SetStored(tensor.name(), ReadOnnxArray(tensor, folder));
  }
  // A net that Doppio has exported gets its inputs back in the order in which it had them.
  const bool own = model.producer_name() == "doppio";
  ImportedNet imported;
  for (const onnx::ValueInfoProto& input : from.input()) {
    if (graph.Find(input.name()) != nullptr) continue;
    const Shape shape = InputShape(input, batch);
    const bool turned = !own && shape.rank() == 4 && IsTurnedAtOnce(from, input.name());
    graph.AddInput(input.name(), shape, turned);
    if (turned) imported.turned_inputs.push_back(input.name());
  }
  ImportNodes(from, &graph);
  for (const onnx::ValueInfoProto& output : from.output()) {
    const ImportValue* const value = graph.Find(output.name());
    if (value == nullptr || value->is_constant())
      throw UserError({}, "no layer computes the output '", output.name(), "' of the model");
    imported.outputs.push_back(graph.InOrder(output.name()).blob);
  }
  imported.net = graph.net();
  if (from.input_size() > 0) imported.images = RecordedImages(model, from.input(0).name());
  return imported;
}

bool HasOpenBatch(const onnx::ValueInfoProto& input) {
  const onnx::TensorShapeProto& shape = input.type().tensor_type().shape();
  return shape.dim_size() > 0 && IsOpen(shape.dim(0));
}

// Returns the net of a model with open batches, or nothing if it does not work for every batch. The
// model is computed with two samples, for which each change of a shape shows where they lie.
std::optional<ImportedNet> ImportForEveryBatch(const onnx::ModelProto& model,
                                               const std::string& folder) {
  std::optional<ImportedNet> imported;
  ErrorCollector ignored;
  ignored.Try([&] {
    ImportedNet net = ImportWith(2, model, folder);
    for (const onnx::ValueInfoProto& input : model.graph().input()) {
      for (LayerParameter& layer : *net.net.mutable_layer()) {
        if (layer.type() == "Input" && layer.top(0) == input.name() && HasOpenBatch(input))
          layer.mutable_input_param()->mutable_shape(0)->set_dim(0, 1);
      }
    }
    CheckShapes(net.net);
    imported = std::move(net);
  });
  return imported;
}

}  // namespace

ImportedNet ImportModel(const onnx::ModelProto& model, const std::string& folder) {
  const auto& inputs = model.graph().input();
  if (std::any_of(inputs.begin(), inputs.end(), &HasOpenBatch)) {
    if (std::optional<ImportedNet> imported = ImportForEveryBatch(model, folder)) return *imported;
  }
  return ImportWith(1, model, folder);
}

onnx::ModelProto ReadOnnxModel(const std::string& path) {
  onnx::ModelProto model;
  if (!model.ParseFromString(ReadFile(path)) || !model.has_graph())
    throw FileError("'", path, "' is not an ONNX model");
  return model;
}

ImportedNet ImportOnnxFile(const std::string& path) {
  const onnx::ModelProto model = ReadOnnxModel(path);
  try {
    return ImportModel(model, DirName(path));
  } catch (const ErrorList&) {
    throw;
  } catch (const FileError& e) {
    throw FileError("'", path, "': ", e.message());
  }
}

}  // namespace doppio
