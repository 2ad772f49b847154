#include "python/live_layer.h"

#include <utility>

namespace doppio {
namespace py = pybind11;
namespace {

std::string Traceback(const py::error_already_set& error) {
  const py::object none = py::none();
  const auto lines =
      py::module_::import("traceback")
          .attr("format_exception")(error.type(), error.value() ? error.value() : none,
                                    error.trace() ? error.trace() : none);
  std::string text = py::str("").attr("join")(lines).cast<std::string>();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// The objects that replicas share, as long as a layer uses them. Replicas build their nets in
// separate threads that share nothing else, so this registry is global.
struct SharedObjects {
  // Held while an object is created, and acquired before the GIL. Recursive, because setup() may
  // create nets.
  std::recursive_mutex making;
  std::map<std::string, std::weak_ptr<LayerObject>> objects;
  static SharedObjects& Get() {
    static auto* all = new SharedObjects;
    return *all;
  }
};

std::shared_ptr<LayerObject> MakeObject(const PythonSettings& settings) {
  auto object = std::make_shared<LayerObject>();
  object->what = settings.module + "." + settings.type;
  CallPython(settings.at, object->what, [&] {
    py::object self = py::module_::import(settings.module.c_str()).attr(settings.type.c_str())();
    self.attr("param_str") = settings.param_str;
    self.attr("param_str_") = settings.param_str;  // the attribute's name until 2015
    self.attr("phase") = settings.phase;
    self.attr("name") = settings.name;
    object->self = self;
  });
  return object;
}

void SetUp(const PythonSettings& settings, LiveLayer* live) {
  LayerObject& object = *live->object;
  object.self.attr("blobs") = live->params;
  CallPython(settings.at, object.what + ".setup",
             [&] { object.self.attr("setup")(ListOf(live->bottoms), ListOf(live->tops)); });
  for (const auto& top : live->tops)
    object.tops_of_setup.push_back(top->shaped() ? top->shape() : Shape());
  for (const auto& param : live->params->blobs) object.params.push_back(param->shape());
}

}  // namespace

LayerObject::~LayerObject() {
  if (self) {
    const py::gil_scoped_acquire gil;
    self.release().dec_ref();
  }
}

LiveLayer::~LiveLayer() {
  const py::gil_scoped_acquire gil;
  for (const auto& blob : params->blobs) blob->Release();
  bottoms.clear();
  tops.clear();
  params.reset();
  object.reset();
}

void CallPython(const SourceLoc& at, const std::string& what, const std::function<void()>& f) {
  try {
    f();
  } catch (const py::error_already_set& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) throw;  // Ctrl-C is not a mistake in the layer
    throw UserError(at, what, " failed\n", Traceback(error));
  }
}

std::unique_lock<std::recursive_mutex> TurnToMake(const PythonSettings& settings) {
  std::unique_lock<std::recursive_mutex> turn(SharedObjects::Get().making, std::defer_lock);
  if (settings.shared) turn.lock();
  return turn;
}

std::unique_ptr<LiveLayer> MakeLive(const PythonSettings& settings,
                                    const std::vector<Shape>& bottoms) {
  auto live = std::make_unique<LiveLayer>();
  live->shared = settings.shared;
  if (live->shared) live->object = SharedObjects::Get().objects[settings.place].lock();
  for (size_t i = 0; i < bottoms.size(); ++i)
    live->bottoms.push_back(std::make_shared<LayerBlob>(settings.bottoms[i], bottoms[i]));
  for (const std::string& top : settings.tops)
    live->tops.push_back(std::make_shared<LayerBlob>(top));
  if (live->object == nullptr) {
    live->object = MakeObject(settings);
    SetUp(settings, live.get());
  } else {
    for (size_t i = 0; i < live->tops.size(); ++i)
      live->tops[i]->Reshape(live->object->tops_of_setup[i]);
    for (const Shape& shape : live->object->params)
      live->params->blobs.push_back(std::make_shared<LayerBlob>("parameter", shape));
  }
  Reshape(settings, live.get());
  if (live->shared) SharedObjects::Get().objects[settings.place] = live->object;
  return live;
}

void Reshape(const PythonSettings& settings, LiveLayer* live) {
  LayerObject& object = *live->object;
  object.self.attr("blobs") = live->params;
  CallPython(settings.at, object.what + ".reshape",
             [&] { object.self.attr("reshape")(ListOf(live->bottoms), ListOf(live->tops)); });
}

void ReshapeFor(const PythonSettings& settings, const std::vector<Shape>& bottoms,
                LiveLayer* live) {
  for (size_t i = 0; i < bottoms.size(); ++i) live->bottoms[i]->Fix(bottoms[i]);
  const auto known = live->known_tops.find(ShapesOfBottoms(*live));
  for (size_t i = 0; known != live->known_tops.end() && i < live->tops.size(); ++i)
    live->tops[i]->Reshape(known->second[i]);
  Reshape(settings, live);
}

std::vector<std::vector<int64_t>> ShapesOfBottoms(const LiveLayer& live) {
  std::vector<std::vector<int64_t>> shapes;
  for (const auto& bottom : live.bottoms) shapes.push_back(bottom->shape().dims());
  return shapes;
}

}  // namespace doppio
