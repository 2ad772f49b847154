// Reads and writes large protobuf files field by field, so that weights move directly between the
// file and their destination, and so that only trusted fields of a file are interpreted.
#ifndef DOPPIO_CORE_NET_STORE_WIRE_FILE_H_
#define DOPPIO_CORE_NET_STORE_WIRE_FILE_H_

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/content/content_kind.h"
#include "core/base/file.h"
#include "core/net/contract/plain_blob.h"

namespace doppio {

// Reads a message. Call Next, then exactly one of the other read methods, until Next returns 0.
class WireReader {
 public:
  // Opens a file. `kind` (".caffemodel") is the expected kind of file, for messages. Throws
  // FileError if the content is recognised as another kind than `expected`.
  WireReader(const std::string& path, const std::string& kind, ContentKind expected);
  // Reads from memory. `bytes` must outlive the reader; `path` names them in messages.
  WireReader(const std::string& bytes, const std::string& path, const std::string& kind);

  // Returns the number of the next field in the current message, or 0 at the end of the message.
  int Next();
  // Returns true if the field is a string, bytes or message field, as the file has it.
  bool HasLength() const;
  // Read a string, bytes or message field, or a varint field.
  std::string String();
  uint64_t Varint();
  PlainBlob Blob();  // Reads a BlobProto in any form that a version of Caffe has written.
  void Skip() { Skip(nullptr); }
  void CopyTo(std::string* bytes);  // Appends the unchanged bytes of the field.
  // Enters a nested message and calls body(), which must read the message to its end. Throws
  // FileError if the file has too many messages for its size.
  template <class F>
  void Message(F&& body) {
    const auto outer = Enter();
    body();
    Leave(outer);
  }

  // Throws FileError "'x' is not a .caffemodel: what".
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
  int64_t bytes_ = 0;    // of the file
  std::string content_;  // the content, if the file is a pipe
  std::unique_ptr<google::protobuf::io::ZeroCopyInputStream> stream_;
  std::unique_ptr<google::protobuf::io::CodedInputStream> in_;
  uint32_t tag_ = 0;
  int64_t parts_ = 0;  // nested messages that have been entered
};

// Returns the bytes of a BlobProto field within a message, including the field's tag and length.
// Includes gradients if `diff` is true.
int64_t WireBlobBytes(const Shape& shape, bool diff);

// Writes a message field by field.
class WireWriter {
 public:
  explicit WireWriter(const std::string& path);  // creates or empties the file
  ~WireWriter();

  // Writes bytes unchanged.
  void Raw(const std::string& bytes);
  // Writes the tag and length of a nested message. The caller writes its `bytes` bytes next.
  void MessageHead(int number, int64_t bytes);
  // Writes a BlobProto field. `number` must be less than 16. `diff` may be null.
  void Blob(int number, const Shape& shape, const float* data, const float* diff = nullptr);
  // Writes packed floats (or bytes) as a field. `number` must be less than 16. Writes nothing if
  // `count` is 0.
  void Floats(int number, int64_t count, const float* data);
  // Returns the sum over all bytes written so far, including buffered ones.
  ContentSum Sum();
  // Writes all buffered bytes and closes the file. Throws FileError if any write has failed.
  // Returns Sum().
  ContentSum Close();

 private:
  class SummedFile;

  void CheckRoom(int64_t bytes) const;  // checks protobuf's size limit

  std::string path_;
  std::unique_ptr<SummedFile> file_;
  std::unique_ptr<google::protobuf::io::CopyingOutputStreamAdaptor> stream_;
  std::unique_ptr<google::protobuf::io::CodedOutputStream> out_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_WIRE_FILE_H_
