// Small ONNX models, and nets made of them, for tests.
#ifndef DOPPIO_TESTS_TOOLS_ONNX_IMPORT_ONNX_MODEL_H_
#define DOPPIO_TESTS_TOOLS_ONNX_IMPORT_ONNX_MODEL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/run/net.h"
#include "core/net/store/weights.h"
#include "tests/testing/mistake.h"
#include "tools/onnx_import/import_onnx.h"

namespace doppio {

class OnnxModel {
 public:
  explicit OnnxModel(int opset = 13) { model.add_opset_import()->set_version(opset); }

  OnnxModel& Input(const std::string& name, const std::vector<int64_t>& dims) {
    onnx::ValueInfoProto* const input = model.mutable_graph()->add_input();
    input->set_name(name);
    for (const int64_t dim : dims)
      input->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
    return *this;
  }
  OnnxModel& Output(const std::string& name) {
    model.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  OnnxModel& Floats(const std::string& name, const std::vector<int64_t>& dims,
                    const std::vector<float>& values) {
    onnx::TensorProto* const tensor = Constant(name, dims, onnx::TensorProto::FLOAT);
    *tensor->mutable_float_data() = {values.begin(), values.end()};
    return *this;
  }
  OnnxModel& Integers(const std::string& name, const std::vector<int64_t>& values) {
    onnx::TensorProto* const tensor =
        Constant(name, {static_cast<int64_t>(values.size())}, onnx::TensorProto::INT64);
    *tensor->mutable_int64_data() = {values.begin(), values.end()};
    return *this;
  }
  OnnxModel& Node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs) {
    onnx::NodeProto* const node = model.mutable_graph()->add_node();
    node->set_op_type(op);
    node->set_name(outputs.empty() ? op : outputs[0] + "_node");
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
    return *this;
  }
  // Add an attribute to the last node.
  OnnxModel& Int(const std::string& name, int64_t value) {
    Attribute(name)->set_i(value);
    return *this;
  }
  OnnxModel& Float(const std::string& name, float value) {
    Attribute(name)->set_f(value);
    return *this;
  }
  OnnxModel& Text(const std::string& name, const std::string& value) {
    Attribute(name)->set_s(value);
    return *this;
  }
  OnnxModel& Ints(const std::string& name, const std::vector<int64_t>& values) {
    onnx::AttributeProto* const attribute = Attribute(name);
    for (const int64_t value : values) attribute->add_ints(value);
    return *this;
  }

  onnx::ModelProto model;

 private:
  onnx::TensorProto* Constant(const std::string& name, const std::vector<int64_t>& dims, int type) {
    onnx::TensorProto* const tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (const int64_t dim : dims) tensor->add_dims(dim);
    return tensor;
  }
  onnx::AttributeProto* Attribute(const std::string& name) {
    onnx::GraphProto* const graph = model.mutable_graph();
    onnx::AttributeProto* const attribute =
        graph->mutable_node(graph->node_size() - 1)->add_attribute();
    attribute->set_name(name);
    return attribute;
  }
};

// An imported net, ready to run on the CPU.
class ImportedRun {
 public:
  explicit ImportedRun(const ImportedNet& imported)
      : outputs_(imported.outputs),
        device_(MakeCpuDevice()),
        store_(device_.get(), DType::kFloat32, 1) {
    NetParameter text = imported.net;
    for (LayerParameter& layer : *text.mutable_layer()) layer.clear_blobs();
    NetState state;
    state.set_phase(TEST);
    Graph graph = MakeGraph(MakeNetSpec(text, FieldPlaces(), state, NetOptions()));
    PlanOptions options;
    options.device = device_.get();
    options.keep_all = true;
    net_ = std::make_unique<Net>(std::move(graph), options, &store_);
    const std::string path = testing::TempDir() + "/imported.caffemodel";
    WriteFileAtomically(path, imported.net.SerializeAsString());
    CopyWeights(ReadWeights(path), net_->graph(), net_->plan().param_index, &store_);
  }

  // Returns the values of output `output` for these values of inputs by name.
  std::vector<float> Run(const std::map<std::string, std::vector<float>>& inputs,
                         size_t output = 0) {
    for (const auto& [name, values] : inputs) {
      const Tensor blob = net_->Blob(name);
      std::copy(values.begin(), values.end(), blob.data<float>());
    }
    net_->Forward();
    return ReadTensor(net_->Blob(outputs_[output]), device_.get()).data;
  }
  Shape ShapeOf(size_t output) { return net_->Blob(outputs_[output]).shape; }

 private:
  const std::vector<std::string> outputs_;
  const std::unique_ptr<Device> device_;
  ParamStore store_;
  std::unique_ptr<Net> net_;
};

using Values = std::vector<float>;

// Returns the first output of the model whose only input is 'x'.
inline Values Result(const OnnxModel& model, const Values& x) {
  return ImportedRun(ImportModel(model.model, "")).Run({{"x", x}});
}

// Returns the types of the layers behind the inputs.
inline std::string Types(const OnnxModel& model) {
  std::string types;
  const ImportedNet imported = ImportModel(model.model, "");
  for (const LayerParameter& layer : imported.net.layer()) {
    if (layer.type() != "Input") types += (types.empty() ? "" : " ") + layer.type();
  }
  return types;
}

inline std::string ImportMistake(const OnnxModel& model) {
  return Mistake([&] { ImportModel(model.model, ""); });
}

// A model of one operator on x, with the result y.
inline OnnxModel One(const std::string& op, const std::vector<int64_t>& dims,
                     const std::vector<std::string>& more = {}, int opset = 13) {
  std::vector<std::string> inputs = {"x"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  OnnxModel model(opset);
  model.Input("x", dims).Node(op, inputs, {"y"}).Output("y");
  return model;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_TOOLS_ONNX_IMPORT_ONNX_MODEL_H_
