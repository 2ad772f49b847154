// Passes a data source that `infer` has opened to the kernel, so that each source is opened only
// once, and from the kernel of one plan of a net to that of the next.
#ifndef DOPPIO_LAYERS_SOURCE_OPENED_SOURCE_H_
#define DOPPIO_LAYERS_SOURCE_OPENED_SOURCE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/sample_set.h"
#include "core/net/contract/kernel.h"
#include "core/net/contract/layer_spec.h"
#include "proto/preprocessing.pb.h"

namespace doppio {

// Owns an open source until a kernel takes it. S is a class such as Pipeline or Hdf5Rows.
template <class S>
class OpenedSource {
 public:
  using Opener = std::function<std::shared_ptr<S>()>;

  // Opens the source with `open`. Throws what `open` throws.
  explicit OpenedSource(Opener open) : open_(std::move(open)), source_(open_()) {}

  // Returns the source, or null after Take.
  std::shared_ptr<S> source() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return source_;
  }

  // Returns the source to the first caller. Opens and returns another one for each later caller,
  // because a net may be built twice from one graph. Thread-safe.
  std::shared_ptr<S> Take() {
    std::shared_ptr<S> first;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      first = std::move(source_);
    }
    return first != nullptr ? std::move(first) : open_();
  }

  // Returns the same with a source that a kernel has taken, for the kernel of another plan of the
  // same net.
  std::shared_ptr<OpenedSource> Again(std::shared_ptr<S> running) const {
    return std::shared_ptr<OpenedSource>(new OpenedSource(open_, std::move(running)));
  }

 private:
  OpenedSource(Opener open, std::shared_ptr<S> source)
      : open_(std::move(open)), source_(std::move(source)) {}

  const Opener open_;
  mutable std::mutex mutex_;
  std::shared_ptr<S> source_;
};

// The form of a layer that reads a source of class S.
template <class S>
struct SourceForm {
  std::shared_ptr<OpenedSource<S>> opened;  // null if the net is built without its data
  bool any_size = false;                    // samples may have several sizes
  // Copies of these members of LayerShape. A plan for other shapes takes them from here instead of
  // reading the source again.
  std::optional<SampleSet> samples;
  std::optional<Preprocessing> preprocessing;

  // Returns true if the kernel must make synthetic data.
  bool synthetic() const { return opened == nullptr; }
};

// Returns the form of the layer's kernel in an earlier plan, with its source; null if there is
// none. Form is the layer's form, a SourceForm.
template <class Form>
const Form* RunningForm(const LayerSpec& spec) {
  if (!spec.before.has_value()) return nullptr;
  const Form& form = FormAs<Form>(&spec.before, spec.type());
  return form.opened == nullptr || form.opened->source() == nullptr ? nullptr : &form;
}

// Returns `form` for the kernel of another plan of the same net, with the source `running`.
template <class Form, class S>
Form FormAgain(Form form, const std::shared_ptr<S>& running) {
  form.opened = form.opened->Again(running);
  return form;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOURCE_OPENED_SOURCE_H_
