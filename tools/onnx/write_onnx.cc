#include "tools/onnx/write_onnx.h"

#include <google/protobuf/io/coded_stream.h>

#include "core/base/file.h"
#include "core/net/store/wire_file.h"
#include "tools/export/byte_file.h"

namespace doppio {
namespace {

constexpr int64_t kIrVersion = 8, kOpset = 13;
constexpr int64_t kMostInside = int64_t{2000}
                                << 20;   // bytes; leaves room for the graph below 2 GiB
constexpr int64_t kLeastOutside = 1024;  // bytes; smaller constants stay in the model

int64_t FloatBytes(const OnnxConstant& constant) {
  return constant.is_integers ? 0 : constant.shape.count() * static_cast<int64_t>(sizeof(float));
}

// Returns the size of a field with `bytes` bytes of content, including its tag and length.
int64_t FieldBytes(int64_t bytes) {
  using Coded = google::protobuf::io::CodedOutputStream;
  return 1 + static_cast<int64_t>(Coded::VarintSize64(static_cast<uint64_t>(bytes))) + bytes;
}

// Returns the tensor without its floats.
onnx::TensorProto Head(const OnnxConstant& constant) {
  onnx::TensorProto tensor;
  tensor.set_name(constant.name);
  tensor.mutable_dims()->Add(constant.shape.dims().begin(), constant.shape.dims().end());
  tensor.set_data_type(constant.is_integers ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT);
  if (constant.is_integers) {
    tensor.set_raw_data(constant.integers.data(), constant.integers.size() * sizeof(int64_t));
  }
  return tensor;
}

struct PlacedConstant {
  const OnnxConstant* constant = nullptr;
  std::string head;    // the serialized tensor without its floats
  int64_t floats = 0;  // size of the field of floats that follows the head
  int64_t bytes() const { return static_cast<int64_t>(head.size()) + floats; }
};

PlacedConstant Outside(const OnnxConstant& constant, const std::string& file, int64_t offset) {
  onnx::TensorProto tensor = Head(constant);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto say = [&](const char* key, const std::string& value) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  say("location", file);
  say("offset", std::to_string(offset));
  say("length", std::to_string(FloatBytes(constant)));
  return {&constant, tensor.SerializeAsString(), 0};
}

PlacedConstant Inside(const OnnxConstant& constant) {
  const int64_t bytes = FloatBytes(constant);
  return {&constant, Head(constant).SerializeAsString(), bytes > 0 ? FieldBytes(bytes) : 0};
}

// Returns the serialized model without its graph.
std::string Frame(const std::map<std::string, std::string>& notes) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("doppio");
  auto* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(kOpset);
  for (const auto& note : notes) {
    auto* entry = model.add_metadata_props();
    entry->set_key(note.first);
    entry->set_value(note.second);
  }
  return model.SerializeAsString();
}

// Fields of a message may come in any order, so the serialized graph without constants is followed
// by the constants. They never have to be in memory as one message.
void WriteModel(const std::string& path, const onnx::GraphProto& graph,
                const std::vector<PlacedConstant>& constants,
                const std::map<std::string, std::string>& notes) {
  const std::string nodes = graph.SerializeAsString();
  int64_t bytes = static_cast<int64_t>(nodes.size());
  for (const PlacedConstant& placed : constants) bytes += FieldBytes(placed.bytes());
  WireWriter out(path);
  out.Raw(Frame(notes));
  out.MessageHead(onnx::ModelProto::kGraphFieldNumber, bytes);
  out.Raw(nodes);
  for (const PlacedConstant& placed : constants) {
    out.MessageHead(onnx::GraphProto::kInitializerFieldNumber, placed.bytes());
    out.Raw(placed.head);
    if (placed.floats > 0) {
      out.Floats(onnx::TensorProto::kRawDataFieldNumber, placed.constant->shape.count(),
                 placed.constant->data());
    }
  }
  out.Close();
}

}  // namespace

bool WriteOnnx(const std::string& path, const OnnxContent& content,
               const std::map<std::string, std::string>& notes, bool external) {
  int64_t bytes = 0;
  for (const OnnxConstant& constant : content.constants) bytes += FloatBytes(constant);
  external = external || bytes > kMostInside;
  const std::string data_path = path + ".data";
  std::vector<PlacedConstant> placed;
  std::vector<const OnnxConstant*> outside;
  int64_t offset = 0;
  for (const OnnxConstant& constant : content.constants) {
    if (!external || FloatBytes(constant) < kLeastOutside) {
      placed.push_back(Inside(constant));
      continue;
    }
    placed.push_back(Outside(constant, data_path.substr(DirName(data_path).size()), offset));
    outside.push_back(&constant);
    offset += FloatBytes(constant);
  }
  if (external) {
    WriteFileAtomically(data_path, [&](const std::string& temporary) {
      ByteFile file(temporary);
      for (const OnnxConstant* constant : outside)
        file.Write(constant->data(), FloatBytes(*constant));
      file.Close();
    });
  }
  WriteFileAtomically(path, [&](const std::string& temporary) {
    WriteModel(temporary, content.graph, placed, notes);
  });
  return external;
}

}  // namespace doppio
