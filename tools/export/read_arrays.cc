// Sources of the formats: see tools/export/npz.cc.
#include "tools/export/read_arrays.h"

#include <zlib.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/checked_product.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/tensor/half.h"
#include "tools/export/param_names.h"

namespace doppio {
namespace {

[[noreturn]] void Damaged(const std::string& path, const std::string& what) {
  throw FileError("'", path, "' is damaged or incomplete: ", what);
}

template <class T>
std::vector<float> FloatsOf(const char* bytes, size_t count) {
  std::vector<float> floats;
  floats.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    floats.push_back(static_cast<float>(value));
  }
  return floats;
}

// A type of elements, under its names in safetensors and NumPy; NumPy has no BF16.
struct ElementKind {
  const char *name, *numpy;
  size_t bytes;
  std::vector<float> (*floats)(const char* bytes, size_t count);
};
constexpr ElementKind kElementKinds[] = {{"F32", "<f4", 4, &FloatsOf<float>},
                                         {"F64", "<f8", 8, &FloatsOf<double>},
                                         {"F16", "<f2", 2, &FloatsOf<Half>},
                                         {"BF16", "", 2, &FloatsOf<BFloat16>}};

// Returns the array of elements `type` whose bytes are these. Throws FileError without the path.
PlainBlob DecodedBlob(const std::string& type, const std::vector<int64_t>& extents,
                      const char* bytes, size_t size) {
  const auto count = CheckedProduct(extents);
  if (!count || extents.size() > static_cast<size_t>(kMaxAxes))
    throw FileError("its shape is ", Shape(extents).ToString());
  for (const ElementKind& kind : kElementKinds) {
    if (type != kind.name && type != kind.numpy) continue;
    if (static_cast<uint64_t>(*count) * kind.bytes != size)
      throw FileError("it has ", size, " bytes, and not those of ", Shape(extents).ToString());
    return {Shape(extents), kind.floats(bytes, static_cast<size_t>(*count))};
  }
  throw FileError("its elements are \"", type, "\", not F32, F64, F16 or BF16");
}

PlainBlob TensorOf(const nlohmann::json& entry, const char* bytes, size_t count) {
  const auto [begin, end] = entry.at("data_offsets").get<std::array<size_t, 2>>();
  if (begin > end || end > count) throw FileError("its bytes are not in the file");
  return DecodedBlob(entry.at("dtype").get<std::string>(),
                     entry.at("shape").get<std::vector<int64_t>>(), bytes + begin, end - begin);
}

// Returns the text behind `key` in the header of a .npy file, up to one of `ends`.
std::string HeaderField(const std::string& header, const std::string& key, const char* ends) {
  const size_t found = header.find("'" + key + "':");
  if (found == std::string::npos) throw FileError("its header has no ", key);
  const size_t begin = header.find_first_not_of(" '(", found + key.size() + 3);
  const size_t end = header.find_first_of(ends, begin);
  if (end == std::string::npos) throw FileError("its header has no end");
  return header.substr(begin, end - begin);
}

// Returns the array in the content of a .npy file. Throws FileError without the path.
PlainBlob NpyBlob(const std::string& npy) {
  constexpr size_t kHead = 8;  // the magic text and the version
  const bool wide = npy.size() > kHead && npy[6] > 1;
  const size_t begin = kHead + (wide ? 4 : 2);
  if (npy.size() < begin || npy.compare(0, 6, "\x93NUMPY") != 0)
    throw FileError("it is no array of NumPy");
  uint32_t length = 0;
  std::memcpy(&length, npy.data() + kHead, begin - kHead);
  if (length > npy.size() - begin) throw FileError("its header is longer than the array");
  const std::string header = npy.substr(begin, length);
  std::vector<int64_t> extents;
  const std::string shape = HeaderField(header, "shape", ")");
  for (const char* at = shape.c_str(); *at >= '0' && *at <= '9';) {
    char* end = nullptr;
    extents.push_back(std::strtoll(at, &end, 10));
    at = end + std::strspn(end, ", ");
  }
  if (extents.size() > 1 && HeaderField(header, "fortran_order", ",}") != "False")
    throw FileError("its order is Fortran's; save numpy.ascontiguousarray of it");
  return DecodedBlob(HeaderField(header, "descr", "',}"), extents, npy.data() + begin + length,
                     npy.size() - begin - length);
}

// The archive's directory, entry by entry.
class ZipReader {
 public:
  explicit ZipReader(const std::string& path) : path_(path), bytes_(ReadFile(path, kMaxElements)) {
    const size_t end = bytes_.rfind(std::string("PK\x05\x06", 4));
    if (end == std::string::npos) Damaged(path, "it has no directory of a ZIP archive");
    left_ = Get<uint16_t>(end + 10);
    at_ = Get<uint32_t>(end + 16);
  }

  // Returns false after the last entry. Else unpacks its content.
  bool Next(std::string* name, std::string* content) {
    if (left_ == 0) return false;
    --left_;
    if (Get<uint32_t>(at_) != 0x02014b50) Damaged(path_, "its directory is no ZIP archive's");
    const auto method = Get<uint16_t>(at_ + 10);
    const size_t packed = Get<uint32_t>(at_ + 20), size = Get<uint32_t>(at_ + 24);
    *name = Part(at_ + 46, Get<uint16_t>(at_ + 28));
    const size_t local = Get<uint32_t>(at_ + 42);
    const std::string from =
        Part(local + 30 + Get<uint16_t>(local + 26) + Get<uint16_t>(local + 28), packed);
    Unpack(method, from, size, content);
    if (crc32(0, reinterpret_cast<const Bytef*>(content->data()),
              static_cast<uInt>(content->size())) != Get<uint32_t>(at_ + 16))
      Damaged(path_, "the checksum of '" + *name + "' is wrong");
    at_ += 46 + Get<uint16_t>(at_ + 28) + Get<uint16_t>(at_ + 30) + Get<uint16_t>(at_ + 32);
    return true;
  }

 private:
  template <class T>
  T Get(size_t at) const {
    T value;
    std::memcpy(&value, Part(at, sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string Part(size_t at, size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) Damaged(path_, "it is too short");
    return bytes_.substr(at, count);
  }
  void Unpack(int method, const std::string& from, size_t size, std::string* to) const {
    if (method == 0 && from.size() == size) {
      *to = from;
      return;
    }
    if (method != Z_DEFLATED || size / kMaxDeflated > from.size())
      Damaged(path_, "it has a file that is neither stored nor deflated");
    to->assign(size, '\0');
    z_stream stream{};
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
    stream.avail_in = static_cast<uInt>(from.size());
    stream.next_out = reinterpret_cast<Bytef*>(to->data());
    stream.avail_out = static_cast<uInt>(size);
    bool whole = inflateInit2(&stream, -MAX_WBITS) == Z_OK;
    whole = whole && inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    if (!whole) Damaged(path_, "a compressed file in it cannot be unpacked");
  }

  const std::string path_, bytes_;
  size_t at_ = 0;
  int left_ = 0;
};

// Returns the arrays as the layers of a net.
WeightsFile WeightsOfArrays(const Graph& graph, NamedBlobs arrays, const std::string& path) {
  WeightsFile file;
  file.path = path;
  ErrorCollector mistakes;
  for (size_t i = 0; i < graph.params.size(); ++i) {
    const GraphParam& param = graph.params[i];
    const LayerSpec& layer = graph.layer(param.node);
    if (file.layers.empty() || file.layers.back().name != layer.name())
      file.layers.push_back({layer.name(), layer.type(), {}});
    std::vector<PlainBlob>& blobs = file.layers.back().blobs;
    if (param.index == graph.nodes[param.node].type->sums_weight) {
      blobs.push_back({param.shape, {1}});
      continue;
    }
    const std::string name = ParamName(graph, static_cast<int>(i));
    auto found = arrays.find(name);
    if (found == arrays.end()) found = arrays.find(ArchiveName(name));
    if (found == arrays.end()) {
      mistakes.Add(layer.Mistake("", "'" + path + "' has no array '" + name + "'"));
      continue;
    }
    blobs.push_back(std::move(found->second));
    arrays.erase(found);
  }
  mistakes.ThrowIfAny();
  for (const auto& array : arrays)
    LOG(WARNING) << "the net has no parameter for the array '" << array.first << "' of " << path;
  return file;
}

}  // namespace

NamedBlobs ReadSafetensorsArrays(const std::string& path) {
  const std::string content = ReadFile(path, kMaxElements);
  uint64_t size = 0;
  if (content.size() < sizeof(size)) Damaged(path, "it has no header");
  std::memcpy(&size, content.data(), sizeof(size));
  if (size > content.size() - sizeof(size)) Damaged(path, "its header is longer than the file");
  const char* const bytes = content.data() + sizeof(size) + size;
  const nlohmann::json table = nlohmann::json::parse(bytes - size, bytes, nullptr, false);
  if (!table.is_object()) Damaged(path, "its header is not JSON");
  NamedBlobs arrays;
  for (const auto& [name, entry] : table.items()) {
    if (name == "__metadata__" || name.substr(name.rfind('.') + 1) == "num_batches_tracked")
      continue;
    try {
      arrays[name] = TensorOf(entry, bytes, content.size() - sizeof(size) - size);
    } catch (const nlohmann::json::exception&) {
      Damaged(path, "array '" + name + "' has no type, shape or offsets");
    } catch (const FileError& e) {
      Damaged(path, "array '" + name + "': " + e.message());
    }
  }
  return arrays;
}

NamedBlobs ReadNpzArrays(const std::string& path) {
  const std::string ending = ".npy";
  NamedBlobs arrays;
  ZipReader zip(path);
  for (std::string name, content; zip.Next(&name, &content);) {
    if (EndsWith(name, ending)) name.resize(name.size() - ending.size());
    try {
      arrays[name] = NpyBlob(content);
    } catch (const FileError& e) {
      Damaged(path, "array '" + name + "': " + e.message());
    }
  }
  return arrays;
}

WeightsFile ReadWeightsFor(const Graph& graph, const std::string& path) {
  CheckExists(path);
  if (EndsWith(path, ".npz")) return WeightsOfArrays(graph, ReadNpzArrays(path), path);
  if (EndsWith(path, ".safetensors"))
    return WeightsOfArrays(graph, ReadSafetensorsArrays(path), path);
  return ReadWeights(path);
}

}  // namespace doppio
