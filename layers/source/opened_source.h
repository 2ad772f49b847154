// A data source that `infer` has opened, on its way to the kernel: each source is opened once.
#ifndef DOPPIO_LAYERS_SOURCE_OPENED_SOURCE_H_
#define DOPPIO_LAYERS_SOURCE_OPENED_SOURCE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "core/net/plan/kernel.h"

namespace doppio {

// Holds an open source until a kernel takes it. S: Pipeline, Hdf5Rows.
template <class S>
class OpenedSource {
 public:
  using Opener = std::function<std::unique_ptr<S>()>;

  // Opens the source. Throws what `open` throws.
  explicit OpenedSource(Opener open) : open_(std::move(open)), source_(open_()) {}

  // The source, until the first call of Take.
  const S& source() const { return *source_; }

  // Returns the source to the first caller. Opens another one for each later caller: a net may be
  // built twice from one graph, and it may be planned again while the old kernel still reads. Any
  // thread may call it.
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

// The form of a layer that reads a source S.
template <class S>
struct SourceForm {
  std::shared_ptr<OpenedSource<S>> opened;  // null where the net is built without its data

  bool synthetic() const { return opened == nullptr; }
};

template <class S>
std::unique_ptr<S> TakeSource(const KernelArgs& args) {
  return args.Form<SourceForm<S>>().opened->Take();
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOURCE_OPENED_SOURCE_H_
