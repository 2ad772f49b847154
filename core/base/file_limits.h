// Limits on the sizes that files may request. A reader rejects larger sizes before it allocates
// memory, with a message that states the limit. docs/errors.md lists the limits for users.
#ifndef DOPPIO_CORE_BASE_FILE_LIMITS_H_
#define DOPPIO_CORE_BASE_FILE_LIMITS_H_

#include <cstdint>
#include <string>

namespace doppio {

constexpr int64_t kMostImagePixels = int64_t{1} << 28;  // per image; --max_pixels changes it
// Elements of a blob in a file or of a data set: 64 GiB of floats.
constexpr int64_t kMostElements = int64_t{1} << 34;
constexpr int64_t kMostPlanned = int64_t{1} << 42;  // elements of a blob of a net
constexpr int64_t kMostAxes = 32;                   // axes of a blob: Caffe's limit
// Bytes of a record, an image file or a text file: protobuf's limit.
constexpr int64_t kMostRecordBytes = INT32_MAX;
constexpr int64_t kMostUnpackedBytes = int64_t{1} << 33;  // bytes of an unpacked gzip file
constexpr int kMostDepth = 100;  // nesting of messages and of HDF5 groups: protobuf's limit
// Scans of a progressive JPEG. Decoding a scan visits the whole image; photographs have about 10.
constexpr int kMostJpegScans = 500;

// The highest compression ratio of deflate, which bounds the size that compressed data can have.
constexpr int kMostDeflated = 1032;

// Throws FileError "SUBJECT has N bytes, more than the limit of M" if `bytes` exceeds
// kMostRecordBytes.
void CheckBytes(const std::string& subject, int64_t bytes);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_FILE_LIMITS_H_
