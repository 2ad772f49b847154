#include <fcntl.h>
#include <google/protobuf/wire_format_lite.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "core/base/error.h"
#include "core/net/store/wire_file.h"
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

// Returns the bytes of a nested field. All fields of BlobProto used here have one-byte tags.
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

// A file and the sum of the bytes passed to it. Reading the file back would sum what the disk or
// another process has made of the bytes.
class WireWriter::SummedFile : public io::CopyingOutputStream {
 public:
  explicit SummedFile(const std::string& path)
      : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (fd_ < 0) reason_ = errno;
  }
  ~SummedFile() override { Close(); }

  bool Write(const void* data, int size) override {
    const char* from = static_cast<const char*>(data);
    for (int left = size; left > 0;) {
      const ssize_t written = write(fd_, from, left);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        reason_ = errno;
        return false;
      }
      from += written;
      left -= static_cast<int>(written);
    }
    sum_.crc = Crc32c(data, size, sum_.crc);
    sum_.bytes += size;
    return true;
  }
  // Network file systems may report a full disk only on close.
  void Close() {
    if (fd_ >= 0 && close(fd_) != 0 && reason_ == 0) reason_ = errno;
    fd_ = -1;
  }

  int reason() const { return reason_; }  // errno of the first failure, or 0
  const ContentSum& sum() const { return sum_; }

 private:
  int fd_;
  int reason_ = 0;
  ContentSum sum_;
};

WireWriter::WireWriter(const std::string& path)
    : path_(path), file_(std::make_unique<SummedFile>(path)) {
  if (file_->reason() != 0)
    throw FileError("cannot write '", path, "': ", std::strerror(file_->reason()));
  stream_ = std::make_unique<io::CopyingOutputStreamAdaptor>(file_.get(), 1 << 20);
  out_ = std::make_unique<io::CodedOutputStream>(stream_.get());
}

WireWriter::~WireWriter() = default;

void WireWriter::Raw(const std::string& bytes) {
  out_->WriteRaw(bytes.data(), static_cast<int>(bytes.size()));
}

void WireWriter::CheckRoom(int64_t bytes) const {
  constexpr int64_t kTagBytes = 16;  // more than the size of a tag and a length
  if (out_->ByteCount() + bytes + kTagBytes < INT_MAX) return;
  throw FileError("cannot write '", path_,
                  "': a protobuf file must be smaller than 2 GiB; write HDF5 (in a solver, set "
                  "snapshot_format: HDF5; elsewhere, choose a name that ends in .h5)");
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

ContentSum WireWriter::Sum() {
  out_->Trim();  // passes the buffered bytes to the stream
  stream_->Flush();
  return file_->sum();
}

ContentSum WireWriter::Close() {
  const ContentSum sum = Sum();
  file_->Close();
  if (file_->reason() != 0)
    throw FileError("cannot write '", path_, "': ", std::strerror(file_->reason()));
  return sum;
}

}  // namespace doppio
