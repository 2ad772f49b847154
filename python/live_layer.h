// The object of a layer `Python` and the blobs that its methods are called with, from `infer` to
// the last kernel that uses them.
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

// The layer as its file describes it.
struct PythonSettings {
  std::string name, module, type, param_str;  // `type`: the user's class in `module`
  int phase = 0;
  bool shared = false;                     // share_in_parallel
  std::string place;                       // where replicas share an object: one for each place
  SourceLoc at;                            // of python_param
  std::vector<std::string> bottoms, tops;  // names
};

// An object of the user's class. The destructor takes the GIL.
struct LayerObject {
  pybind11::object self;
  std::string what;                  // "layers.Crop", for messages
  std::vector<Shape> tops_of_setup;  // the shapes after setup()
  std::vector<Shape> params;         // likewise
  std::mutex turn;                   // serializes the replicas that share the object

  ~LayerObject();
};

// One layer of one net. Any thread may drop the last reference: the destructor takes the GIL.
struct LiveLayer {
  std::shared_ptr<LayerObject> object;
  std::vector<std::shared_ptr<LayerBlob>> bottoms, tops;
  std::shared_ptr<ParamBlobs> params = std::make_shared<ParamBlobs>();
  bool shared = false;
  // The shapes of the tops after the last forward with bottoms of these shapes. This is the best
  // guess where only forward knows the shapes.
  std::map<std::vector<std::vector<int64_t>>, std::vector<Shape>> known_tops;

  ~LiveLayer();
};

// Carries a layer from `infer`, or from the kernel of an earlier plan, to the next kernel. Any
// thread may use it.
class LayerHandover {
 public:
  // `done`: forward has run in this pass, so the tops have the shapes that it gave them.
  LayerHandover(std::shared_ptr<LiveLayer> live, bool done) : live_(std::move(live)), done_(done) {}

  bool done() const { return done_; }
  // Null after Take.
  std::shared_ptr<LiveLayer> live() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return live_;
  }
  // Returns the layer to the first caller and null to later ones.
  std::shared_ptr<LiveLayer> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::move(live_);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<LiveLayer> live_;
  const bool done_;
};

// The form of the layer. It also is what a kernel offers to the next plan (ChangesTops::Offer).
struct PythonForm {
  PythonSettings settings;
  std::shared_ptr<LayerHandover> handover;
};

// Calls the user's code, with the GIL. Turns exceptions of Python into UserErrors at `at`.
void CallPython(const SourceLoc& at, const std::string& what, const std::function<void()>& f);

template <class Blobs>
pybind11::list ListOf(const Blobs& blobs) {
  pybind11::list list;
  for (const auto& blob : blobs) list.append(std::static_pointer_cast<Blob>(blob));
  return list;
}

// Replicas that share an object take turns, so that the second finds the object that the first has
// made. Take the turn before the GIL.
std::unique_lock<std::recursive_mutex> TurnToMake(const PythonSettings& settings);

// Makes the layer and calls its setup() and reshape(), with the turn and the GIL. setup() runs once
// for an object, even if replicas share it.
std::unique_ptr<LiveLayer> MakeLive(const PythonSettings& settings,
                                    const std::vector<Shape>& bottoms);

// Calls reshape(), with the GIL.
void Reshape(const PythonSettings& settings, LiveLayer* live);
// The same for other bottoms. The tops keep their shapes, or get those of the last forward with
// such bottoms.
void ReshapeFor(const PythonSettings& settings, const std::vector<Shape>& bottoms, LiveLayer* live);

std::vector<std::vector<int64_t>> ShapesOfBottoms(const LiveLayer& live);

}  // namespace doppio

#endif  // DOPPIO_PYTHON_LIVE_LAYER_H_
