// Reading and writing large protobuf files field by field, so that weights go straight between the
// file and where they live, and so that of a file from any Caffe only the trusted fields are looked
// at.
#ifndef DOPPIO_CORE_NET_STORE_WIRE_FILE_H_
#define DOPPIO_CORE_NET_STORE_WIRE_FILE_H_

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/content_kind.h"
#include "core/base/file.h"
#include "core/net/store/plain_blob.h"

namespace doppio {

// A message being read: Next, then exactly one of the readers, until Next gives 0.
class WireReader {
 public:
  // `kind` (".caffemodel") is what error messages say the file is not. A file that is recognised as
  // another kind than `expected` is a FileError.
  WireReader(const std::string& path, const std::string& kind, ContentKind expected);
  // The same on bytes in memory, which outlive the reader; `path` names them in messages.
  WireReader(const std::string& bytes, const std::string& path, const std::string& kind);

  // The number of the next field of the current message, 0 at its end.
  int Next();
  std::string String();
  uint64_t Varint();
  PlainBlob Blob();  // a BlobProto: any of the forms that Caffes have written
  void Skip() { Skip(nullptr); }
  void CopyTo(std::string* bytes);  // appends the field as it stands
  // Calls body() inside the nested message; it reads to the end of it.
  template <class F>
  void Message(F&& body) {
    const auto outer = Enter();
    body();
    Leave(outer);
  }

  // FileError "'x' is not a .caffemodel: what".
  [[noreturn]] void Fail(const std::string& what) const;

 private:
  using Limit = google::protobuf::io::CodedInputStream::Limit;
  int Length();
  Limit Enter();
  void Leave(Limit outer);
  void Skip(google::protobuf::io::CodedOutputStream* copy);
  template <class T>
  void Numbers(std::vector<T>* values);
  void BlobShapeDims(Shape* shape);

  std::string path_, kind_;
  std::string content_;  // of a pipe
  std::unique_ptr<google::protobuf::io::ZeroCopyInputStream> stream_;
  std::unique_ptr<google::protobuf::io::CodedInputStream> in_;
  uint32_t tag_ = 0;
};

// What a BlobProto takes in a message, with the number and length of the field; with gradients when
// `diff`.
int64_t WireBlobBytes(const Shape& shape, bool diff);

class WireWriter {
 public:
  explicit WireWriter(const std::string& path);  // creates or empties the file
  ~WireWriter();

  void Raw(const std::string& bytes);
  // The head of a nested message of `bytes` bytes, which are to be written next.
  void MessageHead(int number, int64_t bytes);
  // A field of number < 16. `diff` may be null.
  void Blob(int number, const Shape& shape, const float* data, const float* diff = nullptr);
  // Bytes or packed floats of a field of number < 16; nothing where there are none.
  void Floats(int number, int64_t count, const float* data);
  // Returns the sum over all bytes written so far, buffered ones included.
  ContentSum Sum();
  // Hands the rest to the system; throws FileError for any write that failed. Returns Sum().
  ContentSum Close();

 private:
  class SummedFile;

  void CheckRoom(int64_t bytes) const;  // protobuf's limit

  std::string path_;
  std::unique_ptr<SummedFile> file_;
  std::unique_ptr<google::protobuf::io::CopyingOutputStreamAdaptor> stream_;
  std::unique_ptr<google::protobuf::io::CodedOutputStream> out_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_WIRE_FILE_H_
