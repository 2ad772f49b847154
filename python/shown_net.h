// A net that the threads of a script take turns to use, and the arrays over its memory.
#ifndef DOPPIO_PYTHON_SHOWN_NET_H_
#define DOPPIO_PYTHON_SHOWN_NET_H_

#include <memory>
#include <mutex>
#include <utility>

#include "core/net/run/net.h"
#include "python/views.h"

namespace doppio {

class ShownNet {
 public:
  // Call Use before any other function.
  explicit ShownNet(std::shared_ptr<Views> views) : views_(std::move(views)) {}

  // Continues with `net` and its parameters `params`, which may outlive the net. `views` has the
  // arrays of all nets over these parameters.
  void Use(std::shared_ptr<Net> net, std::shared_ptr<ParamStore> params,
           std::shared_ptr<Views> views);

  Net& net() const { return *net_; }
  const std::shared_ptr<Net>& owner() const { return net_; }
  const std::shared_ptr<ParamStore>& params() const { return params_; }
  const std::shared_ptr<Views>& views() const { return views_; }

  // Lock for the turn to use the net. Never wait for it while holding the GIL.
  std::recursive_mutex& turn() const { return views_->turn(); }
  // Calls `f(net)` in turn, with arrays written back before it and read again after it.
  template <class F>
  void InTurn(const F& f) const {
    const std::lock_guard<std::recursive_mutex> lock(turn());
    views_->Push();
    f(*net_);
    views_->Pull();
  }

  // Return an array that shows a blob or a parameter, or its gradient. Arrays of blobs keep the net
  // alive, and those of parameters keep `params` alive. Both require the GIL.
  pybind11::array ShowBlob(const Tensor& tensor);
  pybind11::array ShowParam(const Tensor& tensor) const;

 private:
  // Owns the memory of the net's current blobs. Arrays share one object as long as neither the net
  // nor its memory changes.
  struct BlobMemory {
    std::shared_ptr<Net> net;
    std::shared_ptr<void> buffers;
  };

  std::shared_ptr<Views> views_;
  std::shared_ptr<Net> net_;
  std::shared_ptr<ParamStore> params_;
  std::weak_ptr<BlobMemory> memory_;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_SHOWN_NET_H_
