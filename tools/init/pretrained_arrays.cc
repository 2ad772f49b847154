#include <algorithm>
#include <sstream>
#include <tuple>

#include "core/base/error.h"
#include "tools/cli/word_list.h"
#include "tools/export/read_arrays.h"
#include "tools/init/pretrained_files.h"

namespace doppio {
namespace {

// A layer's arrays by role, and the roles in the order of Caffe's blobs.
using Arrays = std::map<std::string, PlainBlob>;
const std::vector<std::string>& Roles() {
  static const auto* const roles =
      new std::vector<std::string>{"running_mean", "running_var", "weight", "bias"};
  return *roles;
}

std::map<std::string, Arrays> ReadLayers(const std::string& path) {
  std::map<std::string, Arrays> layers;
  for (auto& [name, array] : ReadSafetensorsArrays(path)) {
    const size_t dot = name.rfind('.');
    const std::string role = name.substr(dot + 1);
    if (dot == std::string::npos || !Contains(Roles(), role)) {
      throw FileError("'", path, "' has an array '", name, "', which is no ", Join(Roles(), ", "),
                      " of a layer; export the model as ONNX, which tells what its arrays mean");
    }
    layers[name.substr(0, dot)][role] = std::move(array);
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
      throw FileError("'", path, "' is damaged or incomplete: '", name,
                      "' has one of running_mean and running_var only");
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
