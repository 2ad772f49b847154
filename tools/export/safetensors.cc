#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "tools/export/array_files.h"
#include "tools/export/byte_file.h"

namespace doppio {
namespace {

constexpr size_t kAlignment = 8;  // in bytes, of the first array

std::string Header(const std::vector<NamedArray>& arrays, const std::string& net) {
  nlohmann::ordered_json table;
  // "pt" means that the arrays have the layouts of PyTorch's layers, which are also Caffe's.
  table["__metadata__"] = {{"format", "pt"}, {"net", net}};
  int64_t offset = 0;
  for (const NamedArray& array : arrays) {
    const int64_t end = offset + array.shape.count() * static_cast<int64_t>(sizeof(float));
    table[array.name] = {
        {"dtype", "F32"}, {"shape", array.shape.dims()}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = table.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

}  // namespace

void WriteSafetensors(const std::string& path, const std::vector<NamedArray>& arrays,
                      const std::string& net) {
  const std::string header = Header(arrays, net);
  WriteFileAtomically(path, [&](const std::string& temporary) {
    ByteFile file(temporary);
    const uint64_t bytes = header.size();
    file.Write(&bytes, sizeof(bytes));
    file.Write(header);
    for (const NamedArray& array : arrays) {
      file.Write(array.data, array.shape.count() * static_cast<int64_t>(sizeof(float)));
    }
    file.Close();
  });
}

}  // namespace doppio
