// Recognises what a file contains by its first bytes, so that an error about the wrong file can
// name the file's format and the option or layer that reads it.
#ifndef DOPPIO_CORE_BASE_CONTENT_CONTENT_KIND_H_
#define DOPPIO_CORE_BASE_CONTENT_CONTENT_KIND_H_

#include <cstddef>
#include <string>

namespace doppio {

enum class ContentKind {
  kText,  // text, or an empty file
  kUtf16,
  kLmdb,
  kIdx,
  kHdf5,
  kNet,  // a binary NetParameter, usually with weights
  kSolverState,
  kMean,
  kGzip,
  kTar,
  kZip,
  kPickle,
  kNumpy,
  kSafetensors,
  kImage,
  kBinary,  // binary, but none of these formats
};

// Number of leading bytes of a file that KindOfContent inspects for signatures. The search for a
// NUL byte, which separates text from binary files, covers all of `content`.
constexpr size_t kKindBytes = 512;

// Returns the format of a file. `content` is the whole file or its first kKindBytes bytes.
ContentKind KindOfContent(const std::string& content);

// Describes a file in the wrong format for an error message: "it is an IDX file (MNIST's format);
// layer Data reads it with backend: IDX, ...". Returns "" for text and for unknown formats.
std::string DescribeContent(const std::string& content);

// Throws FileError "'x' is an IDX file (MNIST's format), but WANTED is needed; ..." unless
// `content` is text. `wanted` is a phrase such as "a list of images".
void CheckIsText(const std::string& path, const std::string& content, const std::string& wanted);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_CONTENT_CONTENT_KIND_H_
