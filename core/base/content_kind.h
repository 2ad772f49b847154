// What a file holds, recognised by its first bytes, so that a message about the wrong file says
// what the file is and what reads it.
#ifndef DOPPIO_CORE_BASE_CONTENT_KIND_H_
#define DOPPIO_CORE_BASE_CONTENT_KIND_H_

#include <cstddef>
#include <string>

namespace doppio {

enum class ContentKind {
  kText,  // or empty
  kUtf16,
  kLmdb,
  kIdx,
  kHdf5,
  kNet,  // a binary net, mostly with weights
  kSolverState,
  kMean,
  kGzip,
  kTar,
  kZip,
  kPickle,
  kNumpy,
  kSafetensors,
  kImage,
  kBinary,  // none of these
};

// KindOfContent looks at this many bytes of a file, apart from its search for text.
constexpr size_t kKindBytes = 512;

// `content` is a file's content, or its first kKindBytes.
ContentKind KindOfContent(const std::string& content);

// Returns "it is an IDX file (MNIST's format); a layer Data reads it with backend: IDX". Returns ""
// for text and for what is not recognised.
std::string WhatItIs(const std::string& content);

// Throws FileError, "'x' is an IDX file (MNIST's format), but WANTED is needed; ...", unless
// `content` is text. `wanted` is "a list of images".
void CheckIsText(const std::string& path, const std::string& content, const std::string& wanted);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_CONTENT_KIND_H_
