// The images that a command cannot use while it uses the others.
#ifndef DOPPIO_TOOLS_DATA_IMAGE_MISTAKES_H_
#define DOPPIO_TOOLS_DATA_IMAGE_MISTAKES_H_

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace doppio {

// Collects errors to report after the results of the other images. Keeps the first ones and the
// number of the rest.
class ImageMistakes {
 public:
  void Add(const Error& error) {
    if (count_++ < kMost) kept_.Add(error);
  }
  // Adds a mistake of one image: "image 'a.png': corrupt PNG image".
  void AddImage(const std::string& path, const std::string& mistake) {
    if (count_++ >= kMost) return;
    kept_.Try([&] { RethrowWithContext(FileError(mistake), {}, "image '" + path + "'"); });
  }

  int64_t count() const { return count_; }

  // Throws the errors, if there are any, and then the number of those that were not kept.
  void ThrowIfAny() {
    if (count_ > kMost) kept_.Add(FileError(count_ - kMost, " more errors of images"));
    kept_.ThrowIfAny();
  }

 private:
  static constexpr int64_t kMost = 100;

  int64_t count_ = 0;
  ErrorCollector kept_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_IMAGE_MISTAKES_H_
