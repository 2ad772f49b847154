// How much a file may ask for. A reader refuses more before it allocates memory for it, with a
// message that states the limit. docs/errors.md lists the limits for users.
#ifndef DOPPIO_CORE_BASE_FILE_LIMITS_H_
#define DOPPIO_CORE_BASE_FILE_LIMITS_H_

#include <cstdint>
#include <string>

namespace doppio {

constexpr int64_t kMostImagePixels = int64_t{1} << 28;  // of one image; --max_pixels changes it
constexpr int64_t kMostElements = int64_t{1} << 34;     // of a blob or a data set: 64 GiB of floats
constexpr int64_t kMostPlanned = int64_t{1} << 42;      // elements of a blob of a net
constexpr int64_t kMostAxes = 32;                       // of a blob: Caffe's limit
constexpr int64_t kMostRecordBytes = INT32_MAX;  // of a record, an image file or a text: protobuf's
constexpr int64_t kMostUnpackedBytes = int64_t{1} << 33;  // of a gzip file
constexpr int kMostDepth = 100;  // of messages, and of HDF5 groups, in each other: protobuf's limit
constexpr int kMostJpegScans = 500;  // each passes over the whole image; photographs have about 10

constexpr int kMostDeflated = 1032;  // bytes that deflate packs into one: what a file may stand for

// Throws FileError "SUBJECT has N bytes, more than the limit of M" above kMostRecordBytes.
void CheckBytes(const std::string& subject, int64_t bytes);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_FILE_LIMITS_H_
