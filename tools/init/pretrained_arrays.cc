#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tools/cli/word_list.h"
#include "tools/init/pretrained_files.h"
#include "tools/onnx_import/onnx_array.h"

namespace doppio {
namespace {

// A layer's arrays by role, and the roles in the order of Caffe's blobs.
using Arrays = std::map<std::string, PlainBlob>;
const std::vector<std::string>& Roles() {
  static const auto* const roles =
      new std::vector<std::string>{"running_mean", "running_var", "weight", "bias"};
  return *roles;
}

[[noreturn]] void Damaged(const std::string& path, const std::string& what) {
  throw FileError("'", path, "' is damaged or incomplete: ", what);
}

// Returns the array that `entry` of the header describes. `bytes` holds the arrays of the file.
PlainBlob ReadArray(const nlohmann::json& entry, const char* bytes, size_t count) {
  const std::map<std::string, onnx::TensorProto::DataType> types = {
      {"F32", onnx::TensorProto::FLOAT},
      {"F64", onnx::TensorProto::DOUBLE},
      {"F16", onnx::TensorProto::FLOAT16},
      {"BF16", onnx::TensorProto::BFLOAT16}};
  const auto type = types.find(entry.at("dtype").get<std::string>());
  if (type == types.end())
    throw FileError("its elements are ", entry.at("dtype").dump(), ", not F32, F64, F16 or BF16");
  const auto [begin, end] = entry.at("data_offsets").get<std::array<size_t, 2>>();
  if (begin > end || end > count) throw FileError("its bytes are not in the file");
  onnx::TensorProto tensor;
  tensor.set_data_type(type->second);
  for (const auto& extent : entry.at("shape")) tensor.add_dims(extent.get<int64_t>());
  tensor.set_raw_data(bytes + begin, end - begin);
  OnnxArray array = ReadOnnxArray(tensor, "");
  return {array.shape, std::move(array.floats)};
}

std::map<std::string, Arrays> ReadLayers(const std::string& path) {
  const std::string content = ReadFile(path, kMaxElements);
  uint64_t size = 0;
  if (content.size() < sizeof(size)) Damaged(path, "it has no header");
  std::memcpy(&size, content.data(), sizeof(size));
  if (size > content.size() - sizeof(size)) Damaged(path, "its header is longer than the file");
  const char* const bytes = content.data() + sizeof(size) + size;
  const nlohmann::json table = nlohmann::json::parse(bytes - size, bytes, nullptr, false);
  if (!table.is_object()) Damaged(path, "its header is not JSON");
  std::map<std::string, Arrays> layers;
  for (const auto& [name, entry] : table.items()) {
    const size_t dot = name.rfind('.');
    const std::string role = name.substr(dot + 1);
    if (name == "__metadata__" || role == "num_batches_tracked") continue;
    if (dot == std::string::npos || !Contains(Roles(), role)) {
      throw FileError("'", path, "' has an array '", name, "', which is no ", Join(Roles(), ", "),
                      " of a layer; export the model as ONNX, which tells what its arrays mean");
    }
    try {
      layers[name.substr(0, dot)][role] =
          ReadArray(entry, bytes, content.size() - sizeof(size) - size);
    } catch (const nlohmann::json::exception&) {
      Damaged(path, "array '" + name + "' has no type, shape or offsets");
    } catch (const FileError& e) {
      Damaged(path, "array '" + name + "': " + e.message());
    }
  }
  return layers;
}

// The keys of the parts of a name; see ReadStateDict.
using Keys = std::vector<std::tuple<bool, int64_t, std::string>>;
Keys KeysOf(const std::string& name) {
  Keys keys;
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '.');) {
    const size_t letters = part.find_last_not_of("0123456789") + 1;
    const std::string digits = part.substr(letters, 9);
    const bool last = part == "classifier" || part == "fc" || part == "head";
    keys.push_back({last, digits.empty() ? -1 : std::stoll(digits), part.substr(0, letters)});
  }
  return keys;
}

}  // namespace

WeightsFile ReadStateDict(const std::string& path) {
  WeightsFile file;
  file.path = path;
  for (auto& [name, arrays] : ReadLayers(path)) {
    LayerBlobs layer{name, "", {}};
    if (arrays.count(Roles()[0]) != arrays.count(Roles()[1]))
      Damaged(path, "'" + name + "' has one of running_mean and running_var only");
    for (const std::string& role : Roles()) {
      if (arrays.count(role) > 0) layer.blobs.push_back(std::move(arrays[role]));
      if (role == Roles()[1] && !layer.blobs.empty()) layer.blobs.push_back({Shape{1}, {1}});
    }
    file.layers.push_back(std::move(layer));
  }
  std::stable_sort(
      file.layers.begin(), file.layers.end(),
      [](const LayerBlobs& a, const LayerBlobs& b) { return KeysOf(a.name) < KeysOf(b.name); });
  return file;
}

}  // namespace doppio
