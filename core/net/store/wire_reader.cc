#include <fcntl.h>
#include <google/protobuf/wire_format_lite.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "core/base/checked_product.h"
#include "core/base/content/content_kind.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/narrowed.h"
#include "core/net/store/wire_file.h"
#include "core/tensor/half.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

namespace io = google::protobuf::io;
using Lite = google::protobuf::internal::WireFormatLite;

// Converts NVCaffe's untyped values. The number of bytes per value identifies the type.
bool FromRaw(const std::string& raw, int64_t count, std::vector<float>* data) {
  if (count <= 0 || static_cast<int64_t>(raw.size()) % count != 0) return false;
  const auto convert = [&](auto value) {
    data->resize(count);
    for (size_t i = 0; i < data->size(); ++i) {
      std::memcpy(&value, raw.data() + i * sizeof value, sizeof value);
      (*data)[i] = static_cast<float>(value);
    }
    return true;
  };
  switch (static_cast<int64_t>(raw.size()) / count) {
    case 2:
      return convert(Half());
    case 4:
      return convert(float());
    case 8:
      return convert(double());
    default:
      return false;
  }
}

std::unique_ptr<io::ZeroCopyInputStream> OpenFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw FileError("cannot read '", path, "': ", std::strerror(errno));
  auto file = std::make_unique<io::FileInputStream>(fd, 1 << 20);
  file->SetCloseOnDelete(true);
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    throw FileError("cannot read '", path, "': ", std::strerror(EISDIR));
  }
  return file;
}

}  // namespace

WireReader::WireReader(const std::string& path, const std::string& kind, ContentKind expected)
    : path_(path), kind_(kind) {
  CheckExists(path);
  const std::string head = ReadHead(path, kKindBytes);
  const std::string found = DescribeContent(head);
  if (!found.empty() && KindOfContent(head) != expected) Fail(found);
  const bool pipe = IsPipe(path);
  if (pipe) {
    content_ = ReadFile(path);
  } else {
    stream_ = OpenFile(path);
  }
  const int64_t bytes = pipe ? static_cast<int64_t>(content_.size()) : FileBytes(path);
  bytes_ = bytes;
  if (bytes == 0) Fail("it is empty");
  if (bytes >= INT_MAX) {
    Fail(StrCat("it has ", bytes,
                " bytes, and protobuf reads less than 2 GiB; use HDF5 (snapshot_format: HDF5)"));
  }
  if (pipe) {
    stream_ = std::make_unique<io::ArrayInputStream>(content_.data(), static_cast<int>(bytes));
  }
  in_ = std::make_unique<io::CodedInputStream>(stream_.get());
  in_->SetTotalBytesLimit(INT_MAX);
  in_->PushLimit(static_cast<int>(bytes));
}

WireReader::WireReader(const std::string& bytes, const std::string& path, const std::string& kind)
    : path_(path),
      kind_(kind),
      bytes_(static_cast<int64_t>(bytes.size())),
      stream_(std::make_unique<io::ArrayInputStream>(bytes.data(), static_cast<int>(bytes.size()))),
      in_(std::make_unique<io::CodedInputStream>(stream_.get())) {
  in_->PushLimit(static_cast<int>(bytes.size()));
}

void WireReader::Fail(const std::string& what) const {
  throw FileError("'", path_, "' is not a ", kind_, ": ", what);
}

int WireReader::Next() {
  if (in_->BytesUntilLimit() == 0) return 0;
  tag_ = in_->ReadTag();
  if (Lite::GetTagFieldNumber(tag_) == 0) Fail("it is damaged or in another format");
  return Lite::GetTagFieldNumber(tag_);
}

int WireReader::Length() {
  uint32_t length = 0;
  if (!HasLength() || !in_->ReadVarint32(&length)) {
    Fail("it is damaged or in another format");
  }
  if (length > static_cast<uint32_t>(in_->BytesUntilLimit())) {
    Fail("it ends too early; it may have been cut off while it was copied");
  }
  return static_cast<int>(length);
}

std::string WireReader::String() {
  std::string text;
  if (!in_->ReadString(&text, Length())) Fail("it cannot be read to its end");
  return text;
}

uint64_t WireReader::Varint() {
  uint64_t value = 0;
  if (Lite::GetTagWireType(tag_) != Lite::WIRETYPE_VARINT || !in_->ReadVarint64(&value)) {
    Fail("it is damaged or in another format");
  }
  return value;
}

void WireReader::Skip(io::CodedOutputStream* copy) {
  const bool good =
      copy == nullptr ? Lite::SkipField(in_.get(), tag_) : Lite::SkipField(in_.get(), tag_, copy);
  if (!good) Fail("it is damaged or in another format");
}

void WireReader::CopyTo(std::string* bytes) {
  io::StringOutputStream stream(bytes);
  io::CodedOutputStream out(&stream);
  Skip(&out);
}

bool WireReader::HasLength() const {
  return Lite::GetTagWireType(tag_) == Lite::WIRETYPE_LENGTH_DELIMITED;
}

WireReader::Limit WireReader::Enter() {
  const int length = Length();
  const int64_t most = std::max(kMaxParts, bytes_ / kBytesOfPart);
  if (++parts_ > most)
    Fail("it has more than " + std::to_string(most) + " layers, blobs and other parts");
  return in_->PushLimit(length);
}

void WireReader::Leave(Limit outer) {
  DOPPIO_CHECK(in_->BytesUntilLimit() == 0, "a message is read to its end");
  in_->PopLimit(outer);
}

// Appends the values of a packed field, or one value of an unpacked field.
template <class T>
void WireReader::Numbers(std::vector<T>* values) {
  const bool packed = HasLength();
  const auto one = sizeof(T) == 4 ? Lite::WIRETYPE_FIXED32 : Lite::WIRETYPE_FIXED64;
  if (!packed && Lite::GetTagWireType(tag_) != one) Fail("it is damaged or in another format");
  const int bytes = packed ? Length() : static_cast<int>(sizeof(T));
  if (bytes % static_cast<int>(sizeof(T)) != 0) Fail("it is damaged or in another format");
  const size_t have = values->size();
  values->resize(have + static_cast<size_t>(bytes) / sizeof(T));
  if (!in_->ReadRaw(values->data() + have, bytes)) Fail("it cannot be read to its end");
}

void WireReader::BlobShapeDims(Shape* shape) {
  BlobShape message;
  if (!message.ParseFromString(String())) Fail("it is damaged or in another format");
  for (int64_t dim : message.dim()) shape->push_back(dim);
}

PlainBlob WireReader::Blob() {
  PlainBlob blob;
  Shape legacy{0, 0, 0, 0};
  bool has_shape = false, has_legacy = false;
  std::vector<double> wide;
  std::string raw;
  Message([&] {
    while (const int field = Next()) {
      switch (field) {
        case BlobProto::kNumFieldNumber:
        case BlobProto::kChannelsFieldNumber:
        case BlobProto::kHeightFieldNumber:
        case BlobProto::kWidthFieldNumber:
          // A negative extent is refused below.
          legacy[field - 1] = Narrowed<int32_t>(static_cast<int64_t>(Varint())).value_or(-1);
          has_legacy = true;
          break;
        case BlobProto::kShapeFieldNumber:
          BlobShapeDims(&blob.shape);
          has_shape = true;
          break;
        case BlobProto::kDataFieldNumber:
          Numbers(&blob.data);
          break;
        case BlobProto::kDoubleDataFieldNumber:
          Numbers(&wide);
          break;
        case BlobProto::kRawDataFieldNumber:
          raw = String();
          break;
        default:
          Skip();
      }
    }
  });
  // Files older than `shape` have four axes. If a blob has both forms, the old one wins, as in
  // Caffe.
  if (has_legacy) blob.shape = legacy;
  if (blob.shape.rank() > kMaxAxes) {
    Fail(StrCat("a blob has ", blob.shape.rank(), " axes, more than the limit of ", kMaxAxes));
  }
  const int64_t count = CheckedProduct(blob.shape.dims()).value_or(-1);
  if (!wide.empty()) blob.data.assign(wide.begin(), wide.end());
  if (blob.data.empty() && !raw.empty() && !FromRaw(raw, count, &blob.data)) {
    Fail(StrCat("a blob of shape ", blob.shape.ToString(), " has ", raw.size(),
                " bytes of raw data"));
  }
  // Caffe writes an empty message for a blob without a shape.
  if (!has_shape && !has_legacy && blob.data.empty())
    blob.shape = Shape{0};
  else if (static_cast<int64_t>(blob.data.size()) != count) {
    Fail(StrCat("a blob of shape ", blob.shape.ToString(), " has ", blob.data.size(),
                blob.data.size() == 1 ? " value" : " values"));
  }
  return blob;
}

}  // namespace doppio
