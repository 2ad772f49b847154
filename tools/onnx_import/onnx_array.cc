#include "tools/onnx_import/onnx_array.h"

#include <cstring>
#include <fstream>
#include <map>

#include "core/base/checked_product.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/tensor/half.h"

namespace doppio {
namespace {

struct ElementType {
  int bytes;
  bool is_integer;
};

const std::map<int, ElementType>& ElementTypes() {
  static const auto* const types = new std::map<int, ElementType>{
      {onnx::TensorProto::FLOAT, {4, false}},   {onnx::TensorProto::DOUBLE, {8, false}},
      {onnx::TensorProto::FLOAT16, {2, false}}, {onnx::TensorProto::BFLOAT16, {2, false}},
      {onnx::TensorProto::INT64, {8, true}},    {onnx::TensorProto::INT32, {4, true}},
      {onnx::TensorProto::INT8, {1, true}},     {onnx::TensorProto::UINT8, {1, true}},
      {onnx::TensorProto::BOOL, {1, true}}};
  return *types;
}

// Returns the name of a tensor for messages.
std::string NameOf(const onnx::TensorProto& tensor) {
  return "the constant '" + tensor.name() + "'";
}

Shape ShapeOf(const onnx::TensorProto& tensor) {
  Shape shape(std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end()));
  if (!CheckedProduct(shape.dims()))
    throw FileError(NameOf(tensor), " has the extents ", shape.ToString());
  return shape;
}

// Returns the bytes of external data. Throws FileError.
std::string ExternalBytes(const onnx::TensorProto& tensor, const std::string& folder,
                          int64_t bytes) {
  std::map<std::string, std::string> fields;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data())
    fields[entry.key()] = entry.value();
  const std::string& location = fields["location"];
  if (location.empty() || location[0] == '/' || location.find("..") != std::string::npos) {
    throw FileError(NameOf(tensor), " is in the file '", location,
                    "', which is not in the folder of the model");
  }
  const std::string path = folder.empty() ? location : folder + "/" + location;
  RefusePipe(path, "the data of a model");
  std::ifstream file(path, std::ios::binary);
  const long long offset = std::atoll(fields["offset"].c_str());
  if (!file || bytes > FileBytes(path)) {
    throw FileError("cannot read ", NameOf(tensor), " from '", path, "', ", bytes, " bytes at ",
                    offset);
  }
  std::string data(static_cast<size_t>(bytes), '\0');
  if (offset < 0 || !file.seekg(offset) || !file.read(data.data(), bytes)) {
    throw FileError("'", path, "' is too short for ", NameOf(tensor), ", ", bytes, " bytes at ",
                    offset);
  }
  return data;
}

template <class T>
T Raw(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

float RawFloat(int type, const char* from) {
  switch (type) {
    case onnx::TensorProto::DOUBLE:
      return static_cast<float>(Raw<double>(from));
    case onnx::TensorProto::FLOAT16:
      return static_cast<float>(Raw<Half>(from));
    case onnx::TensorProto::BFLOAT16:
      return static_cast<float>(Raw<BFloat16>(from));
    default:
      return Raw<float>(from);
  }
}

int64_t RawInteger(int type, const char* from) {
  switch (type) {
    case onnx::TensorProto::INT64:
      return Raw<int64_t>(from);
    case onnx::TensorProto::INT32:
      return Raw<int32_t>(from);
    case onnx::TensorProto::INT8:
      return Raw<int8_t>(from);
    default:
      return Raw<uint8_t>(from);
  }
}

void FillFromBytes(const std::string& data, int type, int bytes, OnnxArray* array) {
  for (size_t i = 0; i < data.size(); i += static_cast<size_t>(bytes)) {
    if (array->is_integers) {
      array->integers.push_back(RawInteger(type, data.data() + i));
    } else {
      array->floats.push_back(RawFloat(type, data.data() + i));
    }
  }
}

// Fills the array from the field for its type.
void FillFromField(const onnx::TensorProto& tensor, int type, OnnxArray* array) {
  if (type == onnx::TensorProto::INT64) {
    array->integers.assign(tensor.int64_data().begin(), tensor.int64_data().end());
  } else if (array->is_integers) {
    array->integers.assign(tensor.int32_data().begin(), tensor.int32_data().end());
  } else if (type == onnx::TensorProto::FLOAT) {
    array->floats.assign(tensor.float_data().begin(), tensor.float_data().end());
  } else if (type == onnx::TensorProto::DOUBLE) {
    array->floats.assign(tensor.double_data().begin(), tensor.double_data().end());
  } else {
    for (const int32_t bits : tensor.int32_data()) {
      const auto narrow = static_cast<uint16_t>(bits);
      array->floats.push_back(RawFloat(type, reinterpret_cast<const char*>(&narrow)));
    }
  }
}

}  // namespace

OnnxArray ReadOnnxArray(const onnx::TensorProto& tensor, const std::string& folder) {
  const auto found = ElementTypes().find(tensor.data_type());
  if (found == ElementTypes().end()) {
    throw FileError(NameOf(tensor), " has elements of type ", tensor.data_type(),
                    ", which Doppio does not read");
  }
  const auto [type, element] = *found;
  OnnxArray array;
  array.shape = ShapeOf(tensor);
  array.is_integers = element.is_integer;
  const int64_t bytes = array.count() * element.bytes;
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    FillFromBytes(ExternalBytes(tensor, folder, bytes), type, element.bytes, &array);
  } else if (tensor.has_raw_data()) {
    if (static_cast<int64_t>(tensor.raw_data().size()) != bytes) {
      throw FileError(NameOf(tensor), " of ", array.shape.ToString(), " has ",
                      tensor.raw_data().size(), " bytes instead of ", bytes);
    }
    FillFromBytes(tensor.raw_data(), type, element.bytes, &array);
  } else {
    FillFromField(tensor, type, &array);
  }
  const size_t filled = array.is_integers ? array.integers.size() : array.floats.size();
  if (static_cast<int64_t>(filled) != array.count()) {
    throw FileError(NameOf(tensor), " of ", array.shape.ToString(), " has ", filled, " elements");
  }
  return array;
}

}  // namespace doppio
