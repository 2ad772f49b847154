#include <algorithm>

#include "core/base/error.h"
#include "core/base/content/content_kind.h"
#include "core/base/file.h"
#include "core/base/file_limits.h"
#include "core/base/text/percent.h"
#include "core/base/narrowed.h"
#include "core/net/spec/prototxt.h"
#include "core/net/store/hdf5_blobs.h"
#include "core/net/store/weights.h"
#include "core/net/store/wire_file.h"
#include "proto/legacy.pb.h"
#include "proto/net.pb.h"

namespace doppio {
namespace {

// Field numbers of V2, V1 and V0 layers. For weights, the versions differ only in these numbers.
struct LayerFields {
  int name, type, blobs;
};
constexpr LayerFields kV2{LayerParameter::kNameFieldNumber, LayerParameter::kTypeFieldNumber,
                          LayerParameter::kBlobsFieldNumber};
constexpr LayerFields kV1Fields{V1LayerParameter::kNameFieldNumber,
                                V1LayerParameter::kTypeFieldNumber,
                                V1LayerParameter::kBlobsFieldNumber};
constexpr LayerFields kV0{V0LayerParameter::kNameFieldNumber, V0LayerParameter::kTypeFieldNumber,
                          V0LayerParameter::kBlobsFieldNumber};

std::string V1TypeName(uint64_t number) {
  const std::optional<int> type = Narrowed<int>(number);
  return type && V1LayerParameter::LayerType_IsValid(*type)
             ? V1LayerParameter::LayerType_Name(static_cast<V1LayerParameter::LayerType>(*type))
             : std::to_string(number);
}

void ReadLayer(WireReader* in, const LayerFields& fields, LayerBlobs* layer) {
  const bool v1 = fields.name == kV1Fields.name;
  in->Message([&] {
    while (const int field = in->Next()) {
      if (field == fields.name)
        layer->name = in->String();
      else if (field == fields.type)
        layer->type = v1 ? V1TypeName(in->Varint()) : in->String();
      else if (field == fields.blobs)
        layer->blobs.push_back(in->Blob());
      else if (v1 && field == V1LayerParameter::kLayerFieldNumber)
        ReadLayer(in, kV0, layer);
      else
        in->Skip();
    }
  });
}

void ReadPreprocessing(WireReader* in, WeightsFile* file) {
  std::string bytes;
  in->CopyTo(&bytes);
  NetParameter net;
  if (!net.ParsePartialFromString(bytes)) in->Fail("its field 'preprocessing' is damaged");
  if (net.has_preprocessing()) file->preprocessing = net.preprocessing();
}

void ReadNet(WireReader* in, WeightsFile* file) {
  std::vector<LayerBlobs>& layers = file->layers;
  bool named = false;  // a file without layers is a net if it has a name
  while (const int field = in->Next()) {
    if (field == NetParameter::kNameFieldNumber) {
      in->String();
      named = true;
    } else if (field == NetParameter::kLayerFieldNumber) {
      layers.emplace_back();
      ReadLayer(in, kV2, &layers.back());
    } else if (field == NetParameter::kLayersFieldNumber) {
      layers.emplace_back();
      ReadLayer(in, kV1Fields, &layers.back());
    } else if (field == NetParameter::kPreprocessingFieldNumber) {
      ReadPreprocessing(in, file);
    } else {
      in->Skip();
    }
  }
  if (layers.empty() && !named) in->Fail("it has no layers");
}

void ReadText(const std::string& path, WeightsFile* file) {
  NetParameter net;
  ParseTextFile(path, &net);
  const std::string bytes = net.SerializePartialAsString();
  WireReader in(bytes, path, "net with weights");
  ReadNet(&in, file);
}

constexpr size_t kMaxBlobs = 1000;  // per layer
// Per file. Each group that Doppio writes takes 704 bytes or more.
constexpr int64_t kMaxGroups = 20'000, kBytesOfGroup = 512;

// Converts "12" to 12. Returns kMaxBlobs for names that are not numbers.
size_t BlobIndex(const std::string& name) {
  if (name.empty() || name.size() > 3 ||
      name.find_first_not_of("0123456789") != std::string::npos) {
    return kMaxBlobs;
  }
  return static_cast<size_t>(std::stoi(name));
}

// Reads groups as layers. "block/conv" is in the group "block", which may be a layer, too.
class GroupReader {
 public:
  GroupReader(Hdf5BlobReader* in, WeightsFile* file)
      : in_(in),
        file_(file),
        encoded_(!in->RootBytes(kEncodedNames).empty()),
        most_groups_(std::max(kMaxGroups, FileBytes(file->path) / kBytesOfGroup)) {}

  // Reads a group and the groups in it. Limits depth and number, because a link may lead to an
  // enclosing group, and several links may lead to the same group.
  void Read(const std::string& name, int depth) {
    if (depth > kMaxDepth) {
      in_->Fail(StrCat("its groups are nested more than ", kMaxDepth,
                       " levels deep; one of them may contain itself"));
    }
    if (++groups_ > most_groups_) {
      in_->Fail("it has more than " + std::to_string(most_groups_) + " groups");
    }
    const std::string group = "/data/" + name;
    LayerBlobs layer;
    layer.name = encoded_ && name[0] == kEncodedMark ? PercentDecoded(name.substr(1)) : name;
    bool has_groups = false;
    for (const Hdf5BlobReader::Child& child : in_->Children(group)) {
      if (child.group) {
        has_groups = true;
        Read(name + "/" + child.name, depth + 1);
        continue;
      }
      const size_t index = BlobIndex(child.name);
      if (index >= kMaxBlobs) in_->Fail("layer '" + name + "' has a data set '" + child.name + "'");
      if (index >= layer.blobs.size()) {
        blobs_ += static_cast<int64_t>(index + 1 - layer.blobs.size());
        if (blobs_ > std::max(kMaxParts, FileBytes(file_->path) / kBytesOfPart))
          in_->Fail("its data sets leave out more blobs than it has");
        layer.blobs.resize(index + 1, PlainBlob{Shape{0}, {}});
      }
      layer.blobs[index] = in_->Blob(group + "/" + child.name);
    }
    if (!layer.blobs.empty() || !has_groups) file_->layers.push_back(std::move(layer));
  }

 private:
  Hdf5BlobReader* const in_;
  WeightsFile* const file_;
  const bool encoded_;
  const int64_t most_groups_;
  int64_t groups_ = 0, blobs_ = 0;
};

// Throws FileError for a solver state, which names its weights if they are beside it.
[[noreturn]] void RefuseState(const std::string& path, const std::string& kind) {
  const std::string state = ".solverstate";
  std::string weights = path;
  const size_t at = weights.rfind(state);
  if (at != std::string::npos) weights.replace(at, state.size(), ".caffemodel");
  const bool beside = weights != path && FileExists(weights);
  throw FileError("'", path, "' is not a ", kind, ": it is a solver state (.solverstate); ",
                  beside ? "its weights are in '" + weights + "': pass that file, or pass the state"
                         : "pass it",
                  " with --snapshot or --resume");
}

}  // namespace

WeightsFile ReadWeights(const std::string& path) {
  WeightsFile file;
  file.path = path;
  if (IsHdf5(path) || EndsWith(path, ".h5")) {
    Hdf5BlobReader in(path, ".caffemodel.h5");
    if (in.Has("/learned_net") && !in.Has("/data")) RefuseState(path, ".caffemodel.h5");
    file.hdf5 = true;
    GroupReader groups(&in, &file);
    for (const Hdf5BlobReader::Child& child : in.Children("/data")) {
      if (!child.group) in.Fail("'/data/" + child.name + "' is not a layer");
      groups.Read(child.name, 1);
    }
    const std::string bytes = in.RootBytes(kPreprocessingAttribute);
    if (!bytes.empty() && !file.preprocessing.emplace().ParseFromString(bytes)) {
      in.Fail(std::string("its attribute '") + kPreprocessingAttribute + "' is damaged");
    }
  } else if (EndsWith(path, ".prototxt")) {
    ReadText(path, &file);
  } else {
    if (KindOfContent(ReadHead(path, kKindBytes)) == ContentKind::kSolverState)
      RefuseState(path, ".caffemodel");
    WireReader in(path, ".caffemodel", ContentKind::kNet);
    WithinMemory(path, [&] { ReadNet(&in, &file); });
  }
  return file;
}

}  // namespace doppio
