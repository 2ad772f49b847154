// Passes a data source that `infer` has opened to the kernel, so that each source is opened only
// once.
#ifndef DOPPIO_LAYERS_SOURCE_OPENED_SOURCE_H_
#define DOPPIO_LAYERS_SOURCE_OPENED_SOURCE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "core/net/plan/kernel.h"

namespace doppio {

// Owns an open source until a kernel takes it. S is a class such as Pipeline or Hdf5Rows.
template <class S>
class OpenedSource {
 public:
  using Opener = std::function<std::unique_ptr<S>()>;

  // Opens the source with `open`. Throws what `open` throws.
  explicit OpenedSource(Opener open) : open_(std::move(open)), source_(open_()) {}

  // Returns the source. Must not be called after Take.
  const S& source() const { return *source_; }

  // Returns the source to the first caller. Opens and returns another one for each later caller,
  // because a net may be built twice from one graph, and may be planned again while the old kernel
  // still reads. Thread-safe.
  std::unique_ptr<S> Take() {
    std::unique_ptr<S> first;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      first = std::move(source_);
    }
    return first != nullptr ? std::move(first) : open_();
  }

 private:
  const Opener open_;
  std::mutex mutex_;
  std::unique_ptr<S> source_;
};

// The form of a layer that reads a source of class S.
template <class S>
struct SourceForm {
  std::shared_ptr<OpenedSource<S>> opened;  // null if the net is built without its data

  // Returns true if the kernel must make synthetic data.
  bool synthetic() const { return opened == nullptr; }
};

// Returns the open source of the layer that `args` describes.
template <class S>
std::unique_ptr<S> TakeSource(const KernelArgs& args) {
  return args.Form<SourceForm<S>>().opened->Take();
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOURCE_OPENED_SOURCE_H_
