// The Python object of a layer of type `Python`, with the blobs that its methods receive. Lives
// from `infer` until the last kernel that uses it is destroyed.
#ifndef DOPPIO_PYTHON_LIVE_LAYER_H_
#define DOPPIO_PYTHON_LIVE_LAYER_H_

#include <pybind11/pybind11.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "python/layer_blob.h"

namespace doppio {

// The layer as described in the net's file.
struct PythonSettings {
  std::string name, module, type, param_str;  // `type`: the user's class in `module`
  int phase = 0;
  bool shared = false;                     // share_in_parallel: replicas share one object
  std::string place;                       // identifies the layer for replicas that share an object
  SourceLoc at;                            // the place of python_param
  std::vector<std::string> bottoms, tops;  // names of blobs
};

// An instance of the user's class. The destructor acquires the GIL.
struct LayerObject {
  pybind11::object self;
  std::string what;                  // e.g. "layers.Crop", for messages
  std::vector<Shape> tops_of_setup;  // the shapes after setup()
  std::vector<Shape> params;         // the shapes of parameters after setup()
  std::mutex turn;                   // serialises the replicas that share the object

  ~LayerObject();
};

// One layer of one net. Any thread may release the last reference, because the destructor acquires
// the GIL.
struct LiveLayer {
  std::shared_ptr<LayerObject> object;
  std::vector<std::shared_ptr<LayerBlob>> bottoms, tops;
  std::shared_ptr<ParamBlobs> params = std::make_shared<ParamBlobs>();
  bool shared = false;
  // The shapes of the tops after the last forward pass with bottoms of the given shapes. They are
  // the best guess if only forward() determines the shapes.
  std::map<std::vector<std::vector<int64_t>>, std::vector<Shape>> known_tops;

  ~LiveLayer();
};

// Passes a layer from `infer`, or from the kernel of an earlier plan, to the next kernel.
// Thread-safe.
class LayerHandover {
 public:
  // `done` is true if forward() has run in this pass, so that the tops have the shapes that it set.
  LayerHandover(std::shared_ptr<LiveLayer> live, bool done) : live_(std::move(live)), done_(done) {}

  bool done() const { return done_; }
  // Returns null after Take.
  std::shared_ptr<LiveLayer> live() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return live_;
  }
  // Returns the layer to the first caller and null to later callers.
  std::shared_ptr<LiveLayer> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::move(live_);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<LiveLayer> live_;
  const bool done_;
};

// The layer's form. A kernel also passes it to the next plan (ChangesTops::NextForm).
struct PythonForm {
  PythonSettings settings;
  std::shared_ptr<LayerHandover> handover;
};

// Calls `f`, which runs the user's code. The caller must hold the GIL. Throws UserError at `at` for
// exceptions of Python, except for KeyboardInterrupt, which is passed on. `what` names the code in
// the message.
void CallPython(const SourceLoc& at, const std::string& what, const std::function<void()>& f);

// Returns a Python list of the blobs. Requires the GIL.
template <class Blobs>
pybind11::list ListOf(const Blobs& blobs) {
  pybind11::list list;
  for (const auto& blob : blobs) list.append(std::static_pointer_cast<Blob>(blob));
  return list;
}

// Acquires the lock for creating the layer if replicas share its object, so that the second replica
// finds the object that the first one created. To avoid a deadlock, acquire the lock before the
// GIL.
std::unique_lock<std::recursive_mutex> TurnToMake(const PythonSettings& settings);

// Creates the layer and calls its setup() and reshape(). The caller must hold the lock from
// TurnToMake and the GIL. setup() runs once per object, even if replicas share it.
std::unique_ptr<LiveLayer> MakeLive(const PythonSettings& settings,
                                    const std::vector<Shape>& bottoms);

// Calls the layer's reshape(). Requires the GIL.
void Reshape(const PythonSettings& settings, LiveLayer* live);
// Like Reshape, for bottoms with other shapes. The tops keep their shapes, or get the shapes of the
// last forward pass with such bottoms.
void ReshapeFor(const PythonSettings& settings, const std::vector<Shape>& bottoms, LiveLayer* live);

// Returns the current shapes of the bottoms, the key of `known_tops`.
std::vector<std::vector<int64_t>> ShapesOfBottoms(const LiveLayer& live);

}  // namespace doppio

#endif  // DOPPIO_PYTHON_LIVE_LAYER_H_
