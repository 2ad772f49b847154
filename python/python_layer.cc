// The layer Python. Its object is made and set up when the net's shapes are found; the kernel that
// is made later goes on with the same object, and so does the kernel of a net that is planned
// again.
#include "python/python_layer.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/net/run/changing_tops.h"
#include "python/interpreter.h"
#include "python/layer_blob.h"

namespace doppio {
namespace py = pybind11;
namespace {

thread_local int current_rank = 0, current_ranks = 1;

// An object of the user's class. It ends with the GIL, whoever lets it go.
struct Instance {
  py::object self;
  std::string what;                  // "layers.Crop", for messages
  std::vector<Shape> tops_of_setup;  // those that setup has given
  std::vector<Shape> params;         // likewise
  std::mutex turn;                   // where replicas share it

  ~Instance() {
    if (self) {
      const py::gil_scoped_acquire gil;
      self.release().dec_ref();
    }
  }
};

// A layer of one net: the object and the blobs that it is called with.
struct Live {
  std::shared_ptr<Instance> instance;
  std::vector<std::shared_ptr<LayerBlob>> bottoms, tops;
  std::shared_ptr<ParamBlobs> params = std::make_shared<ParamBlobs>();
  bool shared = false;
  // By the bottoms' shapes: those of the tops when forward has last run with such bottoms. Where
  // only forward knows them, that is the best guess.
  std::map<std::vector<std::vector<int64_t>>, std::vector<Shape>> known_tops;

  ~Live() {
    const py::gil_scoped_acquire gil;
    for (const auto& blob : params->blobs) blob->Release();
    bottoms.clear();
    tops.clear();
    params.reset();
    instance.reset();
  }
};

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

// Calls the user's code, with the GIL; what it raises becomes a mistake at the layer's place.
template <class F>
void Call(const LayerSpec& spec, const std::string& what, const F& f) {
  try {
    f();
  } catch (const py::error_already_set& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) throw;  // Ctrl-C is nobody's mistake
    throw UserError(spec.At("python_param"), what + " failed\n" + Traceback(error));
  }
}

template <class Blobs>
py::list ListOf(const Blobs& blobs) {
  py::list list;
  for (const auto& blob : blobs) list.append(std::static_pointer_cast<Blob>(blob));
  return list;
}

// Where replicas share an object: one for all layers that stand at this place of a file.
std::string PlaceOf(const LayerSpec& spec) {
  return spec.At().ToString() + " " + Phase_Name(spec.phase()) + " " + spec.name();
}

struct SharedInstances {
  // Taken before the GIL, by who makes one; its setup may make nets, too.
  std::recursive_mutex making;
  std::map<std::string, std::weak_ptr<Instance>> instances;
  static SharedInstances& Get() {
    static auto* all = new SharedInstances;
    return *all;
  }
};

// Layers whose shapes are known and whose kernels have not been made yet. Graphs that are never
// planned leave theirs here, for the next net that says the same.
class Waiting {
 public:
  static Waiting& Get() {
    static auto* all = new Waiting;
    return *all;
  }
  void Put(const std::string& place, std::unique_ptr<Live> live) {
    const std::lock_guard<std::mutex> lock(mutex_);
    layers_.emplace(place, std::move(live));
  }
  // The last one that fits; null where there is none.
  std::unique_ptr<Live> Take(const std::string& place, const std::vector<TensorSpec>& bottoms) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto range = layers_.equal_range(place);
    for (auto it = range.second; it != range.first;) {
      --it;
      if (!Fits(*it->second, bottoms)) continue;
      std::unique_ptr<Live> live = std::move(it->second);
      layers_.erase(it);
      return live;
    }
    return nullptr;
  }

 private:
  static bool Fits(Live& live, const std::vector<TensorSpec>& bottoms) {
    if (live.bottoms.size() != bottoms.size()) return false;
    for (size_t i = 0; i < bottoms.size(); ++i) {
      if (live.bottoms[i]->shape() != bottoms[i].shape) return false;
    }
    return true;
  }

  std::mutex mutex_;
  std::multimap<std::string, std::unique_ptr<Live>> layers_;
};

// What kernels of this thread offer to those that take their places (core/net/run/changing_tops.h).
struct Offered {
  std::shared_ptr<Live> live;
  bool done = false;
};
thread_local std::map<std::string, Offered> offered;

std::string KeyOf(const LayerSpec& spec) {
  const PythonParameter& param = spec.param.python_param();
  return PlaceOf(spec) + " " + param.module() + " " + param.layer() + " " + param.param_str();
}

std::shared_ptr<Instance> MakeInstance(const LayerSpec& spec) {
  const PythonParameter& param = spec.param.python_param();
  auto instance = std::make_shared<Instance>();
  instance->what = param.module() + "." + param.layer();
  Call(spec, instance->what, [&] {
    py::object self = py::module_::import(param.module().c_str()).attr(param.layer().c_str())();
    self.attr("param_str") = param.param_str();
    self.attr("param_str_") = param.param_str();  // its name until 2015
    self.attr("phase") = static_cast<int>(spec.phase());
    self.attr("name") = spec.name();
    instance->self = self;
  });
  return instance;
}

// setup() runs once for an object, however many replicas share it.
void SetUp(const LayerSpec& spec, Live* live) {
  Instance& instance = *live->instance;
  instance.self.attr("blobs") = live->params;
  Call(spec, instance.what + ".setup",
       [&] { instance.self.attr("setup")(ListOf(live->bottoms), ListOf(live->tops)); });
  for (const auto& top : live->tops)
    instance.tops_of_setup.push_back(top->shaped() ? top->shape() : Shape());
  for (const auto& param : live->params->blobs) instance.params.push_back(param->shape());
}

void Reshape(const LayerSpec& spec, Live* live) {
  Instance& instance = *live->instance;
  instance.self.attr("blobs") = live->params;
  Call(spec, instance.what + ".reshape",
       [&] { instance.self.attr("reshape")(ListOf(live->bottoms), ListOf(live->tops)); });
}

std::vector<std::vector<int64_t>> ShapesOfBottoms(const Live& live) {
  std::vector<std::vector<int64_t>> shapes;
  for (const auto& bottom : live.bottoms) shapes.push_back(bottom->shape().dims());
  return shapes;
}

// The layer is to run with other bottoms. Its tops are as they were, unless it has seen such
// bottoms before.
void ReshapeFor(const LayerSpec& spec, const std::vector<Shape>& bottoms, Live* live) {
  for (size_t i = 0; i < bottoms.size(); ++i) live->bottoms[i]->Fix(bottoms[i]);
  const auto known = live->known_tops.find(ShapesOfBottoms(*live));
  for (size_t i = 0; known != live->known_tops.end() && i < live->tops.size(); ++i)
    live->tops[i]->Reshape(known->second[i]);
  Reshape(spec, live);
}

// Replicas that share an object come one after the other, so that the second finds what the first
// has made.
std::unique_lock<std::recursive_mutex> TurnToMake(const LayerSpec& spec) {
  std::unique_lock<std::recursive_mutex> turn(SharedInstances::Get().making, std::defer_lock);
  if (spec.param.python_param().share_in_parallel()) turn.lock();
  return turn;
}

// With the turn and the GIL.
std::unique_ptr<Live> MakeLive(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  auto live = std::make_unique<Live>();
  live->shared = spec.param.python_param().share_in_parallel();
  if (live->shared) live->instance = SharedInstances::Get().instances[PlaceOf(spec)].lock();
  for (size_t i = 0; i < bottoms.size(); ++i) {
    live->bottoms.push_back(
        std::make_shared<LayerBlob>(spec.param.bottom(static_cast<int>(i)), bottoms[i]));
  }
  for (const std::string& top : spec.param.top())
    live->tops.push_back(std::make_shared<LayerBlob>(top));
  if (live->instance == nullptr) {
    live->instance = MakeInstance(spec);
    SetUp(spec, live.get());
  } else {
    for (size_t i = 0; i < live->tops.size(); ++i)
      live->tops[i]->Reshape(live->instance->tops_of_setup[i]);
    for (const Shape& shape : live->instance->params) {
      live->params->blobs.push_back(std::make_shared<LayerBlob>("parameter", shape));
    }
  }
  Reshape(spec, live.get());
  if (live->shared) SharedInstances::Get().instances[PlaceOf(spec)] = live->instance;
  return live;
}

LayerShape ShapeOf(const LayerSpec& spec, const Live& live) {
  LayerShape shape;
  for (const auto& top : live.tops) {
    if (!top->shaped()) {
      throw spec.Mistake("top",
                         live.instance->what + ": neither setup() nor reshape() has given top '" +
                             spec.param.top(static_cast<int>(shape.tops.size())) + "' a shape",
                         static_cast<int>(shape.tops.size()));
    }
    shape.tops.push_back(top->shape());
  }
  for (const Shape& of : live.instance->params)
    shape.params.push_back({of, FillerParameter(), true});
  shape.has_backward = py::hasattr(live.instance->self, "backward");
  // Nobody knows which tops of a source are labels.
  if (live.bottoms.empty()) shape.exact_tops.assign(shape.tops.size(), true);
  return shape;
}

LayerShape Infer(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const PythonParameter& param = spec.param.python_param();
  if (param.module().empty() || param.layer().empty()) {
    throw spec.Mistake(
        "python_param",
        "needs python_param { module: \"...\" layer: \"...\" }: a module that Python finds, "
        "and the name of a class in it");
  }
  StartPython();
  // Blobs need NumPy. Without the GIL: LoadNumpy gives it up meanwhile, and another thread that
  // took it would wait for the first one.
  static std::once_flag numpy;
  std::call_once(numpy, [&] {
    const py::gil_scoped_acquire gil;
    Call(spec, "import numpy", &LoadNumpy);
  });
  const auto turn = TurnToMake(spec);
  const py::gil_scoped_acquire gil;
  const auto known = offered.find(KeyOf(spec));
  if (known != offered.end()) {
    if (!known->second.done) ReshapeFor(spec, bottoms, known->second.live.get());
    return ShapeOf(spec, *known->second.live);
  }
  std::unique_ptr<Live> live = MakeLive(spec, bottoms);
  const LayerShape shape = ShapeOf(spec, *live);
  Waiting::Get().Put(KeyOf(spec), std::move(live));
  return shape;
}
class PythonKernel : public Kernel, public ChangesTops {
 public:
  explicit PythonKernel(const KernelArgs& args)
      : spec_(*args.spec), bottoms_(args.bottoms), placed_(args.param_placed) {}

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    const auto turn = TurnToMake(spec_);
    const py::gil_scoped_acquire gil;
    live_ = FindLive();
    TakeInitialValues();
    for (size_t i = 0; i < t_.params.size(); ++i)
      live_->params->blobs[i]->Bind(t_.params[i], t_.param_grads[i]);
    for (size_t i = 0; i < t_.bottoms.size(); ++i) live_->bottoms[i]->SetType(t_.bottoms[i].dtype);
    for (size_t i = 0; i < t_.tops.size(); ++i) live_->tops[i]->SetType(t_.tops[i].dtype);
  }

  void Forward(const Pass& pass) override {
    InTurn(pass, [&] {
      if (!pass.again) Compute();
      changed_ = Changed();
      for (size_t i = 0; !changed_ && i < t_.tops.size(); ++i) live_->tops[i]->GiveData(t_.tops[i]);
    });
  }

  // As in Caffe, the layer adds to its parameters' gradients; bottoms' start at zero.
  void Backward(const Pass& pass, const std::vector<bool>& add) override {
    for (size_t i = 0; i < t_.param_grads.size(); ++i) {
      if (t_.param_grads[i] && !add[i]) Clear(t_.param_grads[i]);
    }
    InTurn(pass, [&] {
      py::list propagate;
      TakeBottoms();
      for (size_t i = 0; i < t_.bottoms.size(); ++i) {
        live_->bottoms[i]->TakeDiff(Tensor(t_.bottoms[i], nullptr));
        propagate.append(static_cast<bool>(t_.bottom_grads[i]));
      }
      for (size_t i = 0; i < t_.tops.size(); ++i) {
        live_->tops[i]->Reshape(t_.tops[i].shape);  // likewise
        live_->tops[i]->TakeData(t_.tops[i]);
        live_->tops[i]->TakeDiff(t_.top_grads[i]);
      }
      self().attr("blobs") = live_->params;
      Call(spec_, live_->instance->what + ".backward", [&] {
        self().attr("backward")(ListOf(live_->tops), propagate, ListOf(live_->bottoms));
      });
      for (size_t i = 0; i < t_.bottoms.size(); ++i)
        live_->bottoms[i]->GiveDiff(t_.bottom_grads[i]);
    });
  }

  bool changed() const override { return changed_; }
  void Offer(bool done) override { offered[KeyOf(spec_)] = {live_, done}; }
  void Withdraw() override { offered.erase(KeyOf(spec_)); }

  py::object self() const { return live_->instance->self; }
  void TellOwnerOfParams(const std::shared_ptr<void>& owner) const {
    for (const auto& blob : live_->params->blobs) blob->set_owner(owner);
  }

 private:
  static void Clear(const Tensor& tensor) {
    std::fill_n(tensor.data<char>(), tensor.count() * ElementBytes(tensor.dtype), '\0');
  }

  // With the turn and the GIL.
  std::shared_ptr<Live> FindLive() const {
    const auto known = offered.find(KeyOf(spec_));
    if (known != offered.end()) return known->second.live;
    if (std::unique_ptr<Live> waiting = Waiting::Get().Take(KeyOf(spec_), bottoms_)) return waiting;
    std::vector<Shape> shapes;
    for (const TensorSpec& bottom : bottoms_) shapes.push_back(bottom.shape);
    return MakeLive(spec_, shapes);
  }

  void Compute() {
    TakeBottoms();
    Reshape(spec_, live_.get());
    Call(spec_, live_->instance->what + ".forward",
         [&] { self().attr("forward")(ListOf(live_->bottoms), ListOf(live_->tops)); });
    std::vector<Shape>& known = live_->known_tops[ShapesOfBottoms(*live_)];
    known.clear();
    for (const auto& top : live_->tops) known.push_back(top->shape());
  }

  // A net that was to follow the layer and could not may have left other shapes there.
  void TakeBottoms() {
    for (size_t i = 0; i < t_.bottoms.size(); ++i) {
      live_->bottoms[i]->Fix(t_.bottoms[i].shape);
      live_->bottoms[i]->TakeData(t_.bottoms[i]);
    }
  }

  bool Changed() const {
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      if (live_->tops[i]->shape() != t_.tops[i].shape) return true;
    }
    return false;
  }

  // What setup() has put into parameters that no net has had before.
  void TakeInitialValues() {
    for (size_t i = 0; i < t_.params.size(); ++i) {
      if (i < placed_.size() && placed_[i]) continue;
      DispatchFloat(t_.params[i].dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto from = live_->params->blobs[i]
                              ->data()
                              .cast<py::array_t<T, py::array::c_style | py::array::forcecast>>();
        std::copy_n(from.data(), t_.params[i].count(), t_.params[i].template data<T>());
      });
    }
  }

  // With the GIL, and alone where the object is shared. Whoever waits for the turn does not hold
  // the GIL.
  template <class F>
  void InTurn(const Pass& pass, const F& f) {
    std::unique_lock<std::mutex> turn(live_->instance->turn, std::defer_lock);
    if (live_->shared) turn.lock();
    const py::gil_scoped_acquire gil;
    current_rank = pass.rank;
    current_ranks = pass.ranks;
    f();
  }

  const LayerSpec spec_;
  const std::vector<TensorSpec> bottoms_;
  const std::vector<bool> placed_;
  std::shared_ptr<Live> live_;
  bool changed_ = false;
};

std::unique_ptr<Kernel> Make(const KernelArgs& args) {
  return std::make_unique<PythonKernel>(args);
}

DOPPIO_REGISTER_LAYER("Python", LayerType{0, kAny, 0, kAny, false, false, &Infer});
DOPPIO_REGISTER_KERNEL({"Python", DeviceKind::kCpu, "reference", 0, &Make, nullptr});

}  // namespace

namespace {

PythonKernel* PythonKernelOf(Kernel* kernel) {
  return kernel == nullptr ? nullptr : dynamic_cast<PythonKernel*>(InnermostKernel(kernel));
}

}  // namespace

void TellOwnerOfParams(Kernel* kernel, const std::shared_ptr<void>& owner) {
  if (PythonKernel* python = PythonKernelOf(kernel)) python->TellOwnerOfParams(owner);
}

py::object InstanceOf(Kernel* kernel) {
  PythonKernel* python = PythonKernelOf(kernel);
  return python == nullptr ? py::none() : python->self();
}

int CurrentRank() { return current_rank; }
int CurrentRanks() { return current_ranks; }

}  // namespace doppio
