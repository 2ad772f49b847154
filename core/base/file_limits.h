// Limits on the sizes that files may request. A reader rejects larger sizes before it allocates
// memory, with a message that states the limit. docs/errors.md lists the limits for users.
#ifndef DOPPIO_CORE_BASE_FILE_LIMITS_H_
#define DOPPIO_CORE_BASE_FILE_LIMITS_H_

#include <cstdint>
#include <string>

namespace doppio {

constexpr int64_t kMaxImagePixels = int64_t{1} << 28;  // per image; --max_pixels changes it
// Elements of a blob in a file or of a data set: 64 GiB of floats.
constexpr int64_t kMaxElements = int64_t{1} << 34;
constexpr int64_t kMaxPlanned = int64_t{1} << 42;  // elements of a blob of a net
constexpr int64_t kMaxAxes = 32;                   // axes of a blob: Caffe's limit
// Bytes of a record, an image file or a text file: protobuf's limit.
constexpr int64_t kMaxRecordBytes = INT32_MAX;
constexpr int64_t kMaxUnpackedBytes = int64_t{1} << 33;  // bytes of an unpacked gzip file
// Layers, blobs and other messages in a file of weights or of a solver's state. Larger files may
// have one for each kBytesOfPart bytes; an object in memory is far larger than an empty message.
constexpr int64_t kMaxParts = 100'000, kBytesOfPart = 12;
constexpr int kMaxDepth = 100;  // nesting of messages and of HDF5 groups: protobuf's limit
// Levels of virtual data sets of HDF5 that are sources of each other, and sources of one on all
// levels.
constexpr int kMaxVirtualDepth = 8, kMaxVirtualSources = 100'000;
// Scans of a progressive JPEG. Decoding a scan visits the whole image; photographs have about 10.
constexpr int kMaxJpegScans = 500;

// The highest compression ratio of deflate, which bounds the size that compressed data can have.
constexpr int kMaxDeflated = 1032;

// Throws FileError "SUBJECT has N bytes, more than the limit of M" if `bytes` exceeds `most`.
void CheckBytes(const std::string& subject, int64_t bytes, int64_t most = kMaxRecordBytes);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_FILE_LIMITS_H_
