// Implements the layer Python. `infer` creates the layer's object and calls setup(), because only
// reshape() determines the shapes. The form carries the object to the kernel, and a kernel offers
// the object to the kernel of the next plan.
#include "python/python_layer.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/net/contract/changing_tops.h"
#include "core/net/contract/grouped_source.h"
#include "core/net/contract/sample_source.h"
#include "core/net/contract/combinations.h"
#include "python/interpreter.h"
#include "python/live_layer.h"
#include "python/shown_samples.h"

namespace doppio {
namespace py = pybind11;
namespace {

thread_local int current_rank = 0, current_ranks = 1;

PythonSettings SettingsOf(const LayerSpec& spec) {
  const PythonParameter& param = spec.param.python_param();
  PythonSettings settings;
  settings.name = spec.name();
  settings.module = param.module();
  settings.type = param.layer();
  settings.param_str = param.param_str();
  settings.phase = static_cast<int>(spec.phase());
  settings.shared = param.share_in_parallel();
  settings.place = spec.At().ToString() + " " + Phase_Name(spec.phase()) + " " + spec.name();
  settings.at = spec.At("python_param");
  settings.bottoms.assign(spec.param.bottom().begin(), spec.param.bottom().end());
  settings.tops.assign(spec.param.top().begin(), spec.param.top().end());
  return settings;
}

LayerShape ShapeOf(const LayerSpec& spec, const LiveLayer& live) {
  LayerShape shape;
  for (const auto& top : live.tops) {
    const int i = static_cast<int>(shape.tops.size());
    if (!top->shaped()) {
      throw spec.Mistake("top",
                         live.object->what +
                             ": neither setup() nor reshape() has set the shape of top '" +
                             spec.param.top(i) + "'",
                         i);
    }
    shape.tops.push_back(top->shape());
  }
  for (const Shape& param : live.object->params)
    shape.params.push_back({param, FillerParameter(), true});
  shape.has_backward = py::hasattr(live.object->self, "backward");
  // A source in Python does not declare which tops are labels, so all its tops stay in single
  // precision.
  if (live.bottoms.empty()) shape.exact_tops.assign(shape.tops.size(), true);
  return shape;
}

// Returns the form of a layer with a new object, or the form that an earlier kernel offers.
PythonForm FormOf(const LayerSpec& spec, const PythonSettings& settings,
                  const std::vector<Shape>& bottoms) {
  if (spec.before.has_value()) {
    const PythonForm& form = FormAs<PythonForm>(&spec.before, spec.type());
    const std::shared_ptr<LiveLayer> live = form.handover->live();
    if (live != nullptr) {
      if (!form.handover->done()) ReshapeFor(settings, bottoms, live.get());
      return form;
    }
  }
  return {settings, std::make_shared<LayerHandover>(MakeLive(settings, bottoms), false)};
}

LayerShape Infer(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const PythonSettings settings = SettingsOf(spec);
  spec.RefuseIf(settings.module.empty() || settings.type.empty(), "python_param",
                "needs python_param { module: \"...\" layer: \"...\" }: a module that Python can "
                "import, and the name of a class in it");
  StartPython();
  // Blobs need NumPy. call_once runs without the GIL: LoadNumpy releases the GIL during the import,
  // and another thread that acquired the GIL at this point and then entered call_once would
  // deadlock.
  static std::once_flag numpy;
  std::call_once(numpy, [&] {
    const py::gil_scoped_acquire gil;
    CallPython(settings.at, "import numpy", &LoadNumpy);
  });
  const auto turn = TurnToMake(settings);
  const py::gil_scoped_acquire gil;
  const PythonForm form = FormOf(spec, settings, bottoms);
  LayerShape shape = ShapeOf(spec, *form.handover->live());
  shape.form = form;
  shape.features = {Feature::kChangingTops};
  return shape;
}

// Returns why the layer's module cannot be imported, or "". Errors other than missing modules and
// old syntax are left to `Infer`, which reports them in full.
std::string WhyNotImported(const LayerSpec& spec) {
  StartPython();
  const py::gil_scoped_acquire gil;
  try {
    py::module_::import(spec.param.python_param().module().c_str());
  } catch (const py::error_already_set& e) {
    if (!e.matches(PyExc_ImportError) && !e.matches(PyExc_SyntaxError)) return "";
    const std::string text = e.what();
    return text.substr(0, text.find('\n'));
  }
  return "";
}

// Counts the samples of its batches as a source does, so that it finds those of the net's sources
// after a resume, with other replicas, and in tests.
class PythonKernel : public Kernel,
                     public SampleSource,
                     public ChangesTops,
                     public SharesForm,
                     public GroupedSource {
 public:
  explicit PythonKernel(const KernelArgs& args)
      : form_(args.Form<PythonForm>()), placed_(args.param_placed), samples_(args.seed) {
    for (const TensorSpec& bottom : args.bottoms) bottom_shapes_.push_back(bottom.shape);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    const auto turn = TurnToMake(settings());
    const py::gil_scoped_acquire gil;
    live_ = form_.handover->Take();
    // If another net built from the same graph has taken the layer, create a new one.
    if (live_ == nullptr) live_ = MakeLive(settings(), bottom_shapes_);
    TakeInitialValues();
    for (size_t i = 0; i < t_.params.size(); ++i)
      live_->params->blobs[i]->Bind(t_.params[i], t_.param_grads[i]);
    for (size_t i = 0; i < t_.bottoms.size(); ++i) live_->bottoms[i]->SetType(t_.bottoms[i].dtype);
    for (size_t i = 0; i < t_.tops.size(); ++i) live_->tops[i]->SetType(t_.tops[i].dtype);
  }

  void Forward(const Pass& pass) override {
    InTurn(pass, [&] {
      if (!pass.again) Compute(pass);
      changed_ = Changed();
      for (size_t i = 0; !changed_ && i < t_.tops.size(); ++i) live_->tops[i]->GiveData(t_.tops[i]);
    });
  }

  // As in Caffe, backward() adds to the gradients of the parameters, and the gradients of the
  // bottoms start at zero.
  void Backward(const Pass& pass, const std::vector<bool>& add) override {
    for (size_t i = 0; i < t_.param_grads.size(); ++i) {
      const Tensor& gradient = t_.param_grads[i];
      if (gradient && !add[i]) std::memset(gradient.raw, 0, gradient.bytes());
    }
    InTurn(pass, [&] {
      py::list propagate;
      TakeBottoms();
      for (size_t i = 0; i < t_.bottoms.size(); ++i) {
        live_->bottoms[i]->TakeDiff(Tensor(t_.bottoms[i], nullptr));
        propagate.append(static_cast<bool>(t_.bottom_grads[i]));
      }
      for (size_t i = 0; i < t_.tops.size(); ++i) {
        live_->tops[i]->Reshape(t_.tops[i].shape);  // for the reason given at TakeBottoms
        live_->tops[i]->TakeData(t_.tops[i]);
        live_->tops[i]->TakeDiff(t_.top_grads[i]);
      }
      self().attr("blobs") = live_->params;
      CallPython(settings().at, live_->object->what + ".backward", [&] {
        self().attr("backward")(ListOf(live_->tops), propagate, ListOf(live_->bottoms));
      });
      for (size_t i = 0; i < t_.bottoms.size(); ++i)
        live_->bottoms[i]->GiveDiff(t_.bottom_grads[i]);
    });
  }

  int64_t position() const override { return position_; }
  void Seek(int64_t sample) override { position_ = sample; }
  void Join(const GroupRule& rule) override { samples_.Join(rule); }

  bool changed() const override { return changed_; }
  std::any NextForm(bool done) override {
    return PythonForm{settings(), std::make_shared<LayerHandover>(live_, done)};
  }

  py::object self() const { return live_->object->self; }
  void SetOwnerOfParams(const std::shared_ptr<void>& owner) const {
    for (const auto& blob : live_->params->blobs) blob->set_owner(owner);
  }

 private:
  const PythonSettings& settings() const { return form_.settings; }

  void Compute(const Pass& pass) {
    TakeBottoms();
    samples_.ShowTo(self(), position_ + pass.rank * rows());
    position_ += pass.ranks * rows();
    Reshape(settings(), live_.get());
    CallPython(settings().at, live_->object->what + ".forward",
               [&] { self().attr("forward")(ListOf(live_->bottoms), ListOf(live_->tops)); });
    std::vector<Shape>& known = live_->known_tops[ShapesOfBottoms(*live_)];
    known.clear();
    for (const auto& top : live_->tops) known.push_back(top->shape());
  }

  // Sets the shapes again, because a net that failed to replan may have left other shapes.
  void TakeBottoms() {
    for (size_t i = 0; i < t_.bottoms.size(); ++i) {
      live_->bottoms[i]->Fix(t_.bottoms[i].shape);
      live_->bottoms[i]->TakeData(t_.bottoms[i]);
    }
  }

  // See SampleRows.
  int64_t rows() const {
    const std::vector<Tensor>& batch = t_.bottoms.empty() ? t_.tops : t_.bottoms;
    return batch.empty() ? 1 : batch[0].shape.dim_or_1(0);
  }

  bool Changed() const {
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      if (live_->tops[i]->shape() != t_.tops[i].shape) return true;
    }
    return false;
  }

  // Copies the values that setup() wrote to parameters that are new in the ParamStore.
  void TakeInitialValues() {
    for (size_t i = 0; i < t_.params.size(); ++i) {
      if (i < placed_.size() && placed_[i]) continue;
      DispatchFloat(t_.params[i].dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto from = live_->params->blobs[i]
                              ->data()
                              .cast<py::array_t<T, py::array::c_style | py::array::forcecast>>();
        std::copy_n(from.data(), t_.params[i].count(), ParamValues<T>(i));
      });
    }
  }

  // Calls `f` with the GIL. Replicas that share the object take turns; a thread does not hold the
  // GIL while it waits for its turn.
  template <class F>
  void InTurn(const Pass& pass, const F& f) {
    std::unique_lock<std::mutex> turn(live_->object->turn, std::defer_lock);
    if (live_->shared) turn.lock();
    const py::gil_scoped_acquire gil;
    current_rank = pass.rank;
    current_ranks = pass.ranks;
    f();
  }

  const PythonForm form_;
  std::vector<Shape> bottom_shapes_;
  const std::vector<bool> placed_;
  std::shared_ptr<LiveLayer> live_;
  ShownSamples samples_;
  int64_t position_ = 0;  // the first sample of rank 0's next batch
  bool changed_ = false;
};

std::unique_ptr<Kernel> Make(const KernelArgs& args) {
  return std::make_unique<PythonKernel>(args);
}

DOPPIO_REGISTER_LAYER(
    "Python", LayerType(&Infer).Bottoms(0, kAny).Tops(0, kAny).RefusesModules(&WhyNotImported));
DOPPIO_REGISTER_KERNEL(ReferenceKernel("Python", &Make));

PythonKernel* PythonKernelOf(Kernel* kernel) { return Capability<PythonKernel>(kernel); }

}  // namespace

void SetOwnerOfParams(Kernel* kernel, const std::shared_ptr<void>& owner) {
  if (PythonKernel* python = PythonKernelOf(kernel)) python->SetOwnerOfParams(owner);
}

py::object InstanceOf(Kernel* kernel) {
  PythonKernel* python = PythonKernelOf(kernel);
  return python == nullptr ? py::none() : python->self();
}

int CurrentRank() { return current_rank; }
int CurrentRanks() { return current_ranks; }

}  // namespace doppio
