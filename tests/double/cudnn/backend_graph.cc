#include "tests/double/cudnn/backend_graph.h"

#include <algorithm>
#include <sstream>

namespace doppio::gpu_double {
namespace {

// Returns true if no two elements share an address.
bool AreDistinct(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  std::vector<std::pair<int64_t, int64_t>> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] > 1) axes.emplace_back(strides[i], dims[i]);
  }
  std::sort(axes.begin(), axes.end());
  int64_t free = 1;
  for (const auto& [stride, dim] : axes) {
    if (stride < free) return false;
    free = stride * dim;
  }
  return true;
}

// Sorts the operations so that each one follows those whose results it reads. The descriptor may
// list them in any order.
std::vector<BackendOperation> InOrder(std::vector<BackendOperation> operations,
                                      const BackendGraph& graph) {
  std::map<int64_t, bool> known;
  for (const auto& [id, tensor] : graph.tensors) known[id] = !tensor.is_virtual;
  std::vector<BackendOperation> ordered;
  while (!operations.empty()) {
    const auto next = std::find_if(operations.begin(), operations.end(), [&](const auto& op) {
      return known[op.a] && (op.b < 0 || known[op.b]);
    });
    Require(next != operations.end(), "a virtual tensor is read that no operation writes");
    known[next->to] = true;
    ordered.push_back(*next);
    operations.erase(next);
  }
  return ordered;
}

std::string Sign(const BackendGraph& graph) {
  std::ostringstream text;
  for (const BackendOperation& op : graph.operations) {
    text << "op " << static_cast<int>(op.kind) << ' ' << op.a << ' ' << op.b << ' ' << op.to << ' ';
    if (op.IsConvolution()) {
      for (const auto& part : {op.geometry.pads, op.geometry.strides, op.geometry.dilations}) {
        for (int64_t value : part) text << value << ' ';
      }
      text << op.geometry.group << op.geometry.flipped << (op.beta != 0);
    } else {
      text << op.mode << ' ' << op.lower << ' ' << op.upper << ' ' << op.slope;
    }
    text << "; ";
  }
  for (const auto& [id, tensor] : graph.tensors) text << tensor.ToString() << "; ";
  return text.str();
}

}  // namespace

bool BackendTensor::operator==(const BackendTensor& other) const {
  return id == other.id && type == other.type && dims == other.dims && strides == other.strides &&
         alignment == other.alignment && is_virtual == other.is_virtual;
}

std::string BackendTensor::ToString() const {
  std::ostringstream text;
  text << (is_virtual ? "virtual tensor " : "tensor ") << id << " (";
  for (size_t i = 0; i < dims.size(); ++i) text << (i > 0 ? " " : "") << dims[i];
  text << ") of type " << type << " with strides (";
  for (size_t i = 0; i < strides.size(); ++i) text << (i > 0 ? " " : "") << strides[i];
  text << ")";
  return text.str();
}

BackendTensor ParseTensor(const Descriptor& descriptor) {
  BackendTensor tensor;
  tensor.id = descriptor.One<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  tensor.type = descriptor.One<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  tensor.dims = descriptor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  tensor.strides = descriptor.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  tensor.alignment = descriptor.One<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  tensor.is_virtual = descriptor.One<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  Require(tensor.id >= 0, "a tensor's unique id is negative");
  Require(tensor.dims.size() == tensor.strides.size(),
          "a tensor's dimensions and strides are not of one number");
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    Require(tensor.dims[i] > 0 && tensor.strides[i] > 0,
            tensor.ToString() + " has an extent or a stride that is not positive");
  }
  Require(AreDistinct(tensor.dims, tensor.strides),
          tensor.ToString() + " has elements at the same place");
  if (tensor.type != CUDNN_DATA_FLOAT && tensor.type != CUDNN_DATA_HALF &&
      tensor.type != CUDNN_DATA_BFLOAT16) {
    Refuse(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "the double has no " + tensor.ToString());
  }
  Require(tensor.alignment > 0 && (tensor.alignment & (tensor.alignment - 1)) == 0 &&
              tensor.alignment % BytesOf(tensor.type) == 0,
          tensor.ToString() + " has an alignment that is no power of 2 or less than an element");
  if (descriptor.One<int64_t>(CUDNN_ATTR_TENSOR_VECTOR_COUNT, 1) != 1) {
    Refuse(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "the double has no vectorized tensors");
  }
  return tensor;
}

BackendGraph ParseGraph(const Descriptor& descriptor) {
  BackendGraph graph;
  graph.handle = descriptor.One<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
  std::vector<BackendOperation> operations;
  for (const auto& operation : descriptor.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).referred) {
    Require(operation->finalized, "an operation of a graph is not finalized");
    operations.push_back(ParseOperation(*operation, &graph.tensors));
  }
  std::map<int64_t, int> writers, readers;
  int convolutions = 0;
  for (const BackendOperation& op : operations) {
    ++writers[op.to];
    ++readers[op.a];
    if (op.b >= 0) ++readers[op.b];
    convolutions += op.IsConvolution();
    Require(op.beta == 0 || !op.IsConvolution() || !graph.tensors.at(op.to).is_virtual,
            "beta of a virtual tensor");
  }
  for (const auto& [id, tensor] : graph.tensors) {
    Require(writers[id] <= 1, tensor.ToString() + " is written by two operations");
    const int links = (writers[id] > 0) + (readers[id] > 0);
    Require(tensor.is_virtual ? links == 2 : links == 1,
            tensor.ToString() + (tensor.is_virtual ? " is not both written and read"
                                                   : " is both written and read; only virtual ones "
                                                     "lie between operations"));
  }
  if (convolutions != 1) {
    Refuse(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "the double's graphs have one convolution");
  }
  graph.operations = InOrder(std::move(operations), graph);
  graph.signature = Sign(graph);
  return graph;
}

const BackendOperation& BackendGraph::convolution() const {
  return *std::find_if(operations.begin(), operations.end(),
                       [](const BackendOperation& op) { return op.IsConvolution(); });
}

bool BackendGraph::IsWritten(int64_t id) const {
  return std::any_of(operations.begin(), operations.end(),
                     [&](const BackendOperation& op) { return op.to == id; });
}

bool BackendGraph::IsRead(int64_t id) const {
  return std::any_of(operations.begin(), operations.end(), [&](const BackendOperation& op) {
    return op.a == id || op.b == id || (op.IsConvolution() && op.beta != 0 && op.to == id);
  });
}

}  // namespace doppio::gpu_double
