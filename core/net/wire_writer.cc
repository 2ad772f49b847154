#include <fcntl.h>
#include <google/protobuf/wire_format_lite.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "core/base/error.h"
#include "core/net/wire_file.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

namespace io = google::protobuf::io;
using Lite = google::protobuf::internal::WireFormatLite;

std::string ShapeBytes(const Shape& shape) {
  BlobShape message;
  for (int64_t dim : shape.dims()) message.add_dim(dim);
  return message.SerializeAsString();
}

// All fields of BlobProto in use have one-byte tags.
int64_t NestedBytes(int64_t bytes) {
  return 1 +
         static_cast<int64_t>(io::CodedOutputStream::VarintSize64(static_cast<uint64_t>(bytes))) +
         bytes;
}

int64_t BlobBytes(const Shape& shape, bool diff) {
  const int64_t floats = shape.count() > 0 ? NestedBytes(shape.count() * 4) : 0;
  return NestedBytes(static_cast<int64_t>(ShapeBytes(shape).size())) + floats * (diff ? 2 : 1);
}

}  // namespace

int64_t WireBlobBytes(const Shape& shape, bool diff) { return NestedBytes(BlobBytes(shape, diff)); }

WireWriter::WireWriter(const std::string& path) : path_(path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) throw FileError("cannot write '" + path + "': " + std::strerror(errno));
  stream_ = std::make_unique<io::FileOutputStream>(fd, 1 << 20);
  stream_->SetCloseOnDelete(true);
  out_ = std::make_unique<io::CodedOutputStream>(stream_.get());
}

WireWriter::~WireWriter() = default;

void WireWriter::Raw(const std::string& bytes) {
  out_->WriteRaw(bytes.data(), static_cast<int>(bytes.size()));
}

void WireWriter::CheckRoom(int64_t bytes) const {
  constexpr int64_t kTagBytes = 16;  // more than a tag and a length take
  if (out_->ByteCount() + bytes + kTagBytes < INT_MAX) return;
  throw FileError(
      "cannot write '" + path_ +
      "': a protobuf file holds less than 2 GiB; write HDF5 (in a solver snapshot_format: HDF5, "
      "elsewhere a name that ends with .h5)");
}

void WireWriter::MessageHead(int number, int64_t bytes) {
  CheckRoom(bytes);
  out_->WriteTag(Lite::MakeTag(number, Lite::WIRETYPE_LENGTH_DELIMITED));
  out_->WriteVarint32(static_cast<uint32_t>(bytes));
}

void WireWriter::Floats(int number, int64_t count, const float* data) {
  if (count == 0) return;
  out_->WriteTag(Lite::MakeTag(number, Lite::WIRETYPE_LENGTH_DELIMITED));
  out_->WriteVarint32(static_cast<uint32_t>(count * 4));
  out_->WriteRaw(data, static_cast<int>(count * 4));
}

void WireWriter::Blob(int number, const Shape& shape, const float* data, const float* diff) {
  CheckRoom(BlobBytes(shape, diff != nullptr));
  const std::string dims = ShapeBytes(shape);
  out_->WriteTag(Lite::MakeTag(number, Lite::WIRETYPE_LENGTH_DELIMITED));
  out_->WriteVarint32(static_cast<uint32_t>(BlobBytes(shape, diff != nullptr)));
  out_->WriteTag(Lite::MakeTag(BlobProto::kShapeFieldNumber, Lite::WIRETYPE_LENGTH_DELIMITED));
  out_->WriteVarint32(static_cast<uint32_t>(dims.size()));
  Raw(dims);
  Floats(BlobProto::kDataFieldNumber, shape.count(), data);
  if (diff != nullptr) Floats(BlobProto::kDiffFieldNumber, shape.count(), diff);
}

void WireWriter::Close() {
  out_.reset();                      // hands its last bytes to the stream
  stream_->SetCloseOnDelete(false);  // closing twice is a fatal error to protobuf
  const bool good = stream_->Close();
  if (!good) throw FileError("cannot write '" + path_ + "': " + std::strerror(stream_->GetErrno()));
}

}  // namespace doppio
