// The module `_doppio`, the basis of the package `doppio`. Functions that compute or read files
// release the GIL.
#include <google/protobuf/descriptor.pb.h>
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/base/text/nearest.h"
#include "core/base/text/split_at.h"
#include "core/base/threads.h"
#include "core/base/version.h"
#include "core/net/graph/find_blob.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"
#include "python/command.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/graph_names.h"
#include "python/images.h"
#include "python/layer_blob.h"
#include "python/live_net.h"
#include "python/live_solver.h"
#include "python/net_params.h"
#include "python/python_layer.h"

namespace doppio {
namespace py = pybind11;
namespace {

constexpr uint64_t kSeed = 1;  // the default seed of the commands

using NoGil = py::call_guard<py::gil_scoped_release>;

// Parses the arguments of reshape(1, 3, 8, 8) or reshape((1, 3, 8, 8)).
Shape ShapeOfArgs(const py::args& args) {
  const bool nested = args.size() == 1 && !py::isinstance<py::int_>(args[0]) &&
                      py::isinstance<py::iterable>(args[0]);
  Shape shape;
  for (const py::handle dim :
       nested ? py::tuple(py::reinterpret_borrow<py::object>(args[0])) : py::tuple(args)) {
    const auto whole =
        // Accepts NumPy's integers too.
        py::reinterpret_steal<py::object>(PyNumber_Index(dim.ptr()));
    if (!whole) throw py::error_already_set();
    shape.push_back(whole.cast<int64_t>());
  }
  return shape;
}

py::tuple ShapeTuple(Blob* blob) { return py::tuple(py::cast(blob->shape().dims())); }

// Returns an extent by Caffe's names for the first four axes.
int64_t Extent(Blob* blob, int axis) { return blob->shape().dim_or_1(axis); }

// Implements assignment to an array property by writing into the array. Without a setter,
// `blob.data += x` would fail, because Python assigns the result at the end.
void Assign(const py::array& to, const py::object& from) { to[py::ellipsis()] = from; }

void AddBlob(py::module_* module) {
  py::class_<Blob, std::shared_ptr<Blob>>(*module, "Blob")
      .def_property("data", &Blob::data,
                    [](Blob* blob, const py::object& x) { Assign(blob->data(), x); })
      .def_property("diff", &Blob::diff,
                    [](Blob* blob, const py::object& x) { Assign(blob->diff(), x); })
      .def_property_readonly("shape", &ShapeTuple)
      .def_property_readonly("count", [](Blob* blob) { return blob->shape().count(); })
      .def_property_readonly("num", [](Blob* blob) { return Extent(blob, 0); })
      .def_property_readonly("channels", [](Blob* blob) { return Extent(blob, 1); })
      .def_property_readonly("height", [](Blob* blob) { return Extent(blob, 2); })
      .def_property_readonly("width", [](Blob* blob) { return Extent(blob, 3); })
      .def("reshape", [](Blob* blob, const py::args& shape) { blob->Reshape(ShapeOfArgs(shape)); });
  py::class_<ParamBlobs, std::shared_ptr<ParamBlobs>>(*module, "ParamBlobs")
      .def("add_blob",
           [](ParamBlobs* list, const py::args& shape) {
             list->blobs.push_back(std::make_shared<LayerBlob>("parameter", ShapeOfArgs(shape)));
             return std::static_pointer_cast<Blob>(list->blobs.back());
           })
      .def("__len__", [](const ParamBlobs& list) { return list.blobs.size(); })
      .def("__getitem__", [](const ParamBlobs& list, size_t i) {
        if (i >= list.blobs.size())
          throw py::index_error(
              StrCat("index ", i, ", but the layer has ", list.blobs.size(), " blobs"));
        return std::static_pointer_cast<Blob>(list.blobs[i]);
      });
}

void LoadWeights(LiveNet* net, const std::string& path) {
  net->shown().InTurn([&](Net& now) { NetParams(&now).Load(path); });
}

std::shared_ptr<LiveNet> LoadLiveNet(const std::string& file, int phase, const std::string& weights,
                                     int level, const std::vector<std::string>& stages) {
  const py::gil_scoped_release release;
  if (!Phase_IsValid(phase))
    throw UsageError("the phase of a net must be TRAIN or TEST, got ", phase);
  NetRecipe recipe(file, static_cast<Phase>(phase), level, stages, ChosenDevice(),
                   ChosenSeed().value_or(kSeed));
  auto net = std::make_shared<LiveNet>(std::move(recipe));
  for (const std::string& path : SplitAt(weights, ',')) LoadWeights(net.get(), path);
  return net;
}

void AddNet(py::module_* module) {
  py::class_<LiveNet, std::shared_ptr<LiveNet>>(*module, "Net", py::dynamic_attr())
      .def(py::init(&LoadLiveNet), py::arg("file"), py::arg("phase"), py::arg("weights"),
           py::arg("level"), py::arg("stages"))
      .def("_forward", &LiveNet::Forward, NoGil())
      .def("_backward", &LiveNet::Backward, NoGil())
      .def(
          "clear_param_diffs",
          [](LiveNet* net) {
            net->shown().InTurn([](Net& now) { NetParams(&now).ClearGradients(); });
          },
          NoGil())
      .def("reshape", &LiveNet::Reshape, NoGil())
      .def("_copy_from", &LoadWeights, NoGil())
      .def(
          "_save",
          [](LiveNet* net, const std::string& path, bool hdf5, bool diffs) {
            net->shown().InTurn([&](Net& now) { NetParams(&now).Save(path, hdf5, diffs); });
          },
          NoGil())
      .def("_set_samples",
           [](LiveNet* net, const std::string& layer, const py::array& data,
              const py::array& labels) { net->samples().Set(net->shown(), layer, data, labels); })
      .def("share_with", &LiveNet::ShareWith, NoGil(), py::arg("other").none(false))
      .def("_find_layer",
           [](const LiveNet& net, const std::string& name) { return FindLayer(net.graph(), name); })
      .def_property_readonly("_blob_names",
                             [](const LiveNet& net) { return BlobNames(net.graph()); })
      .def("_blob", &BlobOf)
      .def("_param", &ParamOf)
      .def("_param_count",
           [](const LiveNet& net, int layer) { return net.graph().nodes.at(layer).params.size(); })
      .def("_instance",
           [](const LiveNet& net, int layer) { return InstanceOf(net.net().plan().kernel(layer)); })
      .def("_layer",
           [](const LiveNet& net, int layer) {
             const LayerParameter& param = net.graph().layer(layer).param;
             auto names = [](const auto& blobs) {
               return std::vector<std::string>(blobs.begin(), blobs.end());
             };
             return std::make_tuple(param.name(), param.type(), names(param.bottom()),
                                    names(param.top()));
           })
      .def("_preprocessing",
           [](const LiveNet& net) {
             const std::optional<Preprocessing>& images = net.graph().preprocessing;
             return images ? py::object(py::bytes(images->SerializeAsString())) : py::none();
           })
      .def("_layer_count", [](const LiveNet& net) { return net.graph().nodes.size(); })
      .def_property_readonly("name", [](const LiveNet& net) { return net.graph().spec.name; })
      .def_property_readonly("inputs", [](const LiveNet& net) { return InputNames(net.graph()); })
      .def_property_readonly("outputs",
                             [](const LiveNet& net) { return OutputNames(net.graph()); });
}

void AddSolver(py::module_* module) {
  py::class_<LiveSolver>(*module, "Solver", py::dynamic_attr())
      .def(py::init([](const std::string& file, const std::string& type) {
             const py::gil_scoped_release release;
             return std::make_unique<LiveSolver>(file, type, ChosenDevice());
           }),
           py::arg("file"), py::arg("type") = "")
      .def("_step", &LiveSolver::Step, NoGil())
      .def("_solve", &LiveSolver::Solve, NoGil())
      .def("apply_update", &LiveSolver::ApplyUpdate, NoGil())
      .def("_restore", &LiveSolver::Restore, NoGil())
      .def("snapshot", &LiveSolver::Snapshot, NoGil())
      .def_property_readonly("iter", &LiveSolver::iteration)
      .def_property_readonly("net", &LiveSolver::net)
      .def_property_readonly("test_nets", &LiveSolver::test_nets)
      .def_property_readonly("type", [](const LiveSolver& solver) { return solver.param().type(); })
      .def_property_readonly("_param", [](const LiveSolver& solver) {
        return py::bytes(solver.param().SerializePartialAsString());
      });
}

// Appends the descriptor of `file` after those of its imports.
void AddFileOf(const google::protobuf::FileDescriptor& file, std::vector<std::string>* names,
               py::list* list) {
  if (std::find(names->begin(), names->end(), file.name()) != names->end()) return;
  for (int i = 0; i < file.dependency_count(); ++i) AddFileOf(*file.dependency(i), names, list);
  google::protobuf::FileDescriptorProto described;
  file.CopyTo(&described);
  names->push_back(file.name());
  list->append(py::bytes(described.SerializeAsString()));
}

// Returns the serialised file descriptors of Doppio's schema, from which Python creates message
// classes.
py::list Schema() {
  py::list list;
  std::vector<std::string> names;
  AddFileOf(*SolverParameter::descriptor()->file(), &names, &list);
  AddFileOf(*NetParameter::descriptor()->file(), &names, &list);
  return list;
}

}  // namespace
}  // namespace doppio

PYBIND11_MODULE(_doppio, m) {
  namespace py = pybind11;
  m.attr("__module__") = "doppio";  // the module that errors about arguments name
  if (!google::IsGoogleLoggingInitialized()) doppio::InitLog("doppio");
  doppio::CheckThreadVariables();
  doppio::ClampNumThreads();
  doppio::AddErrors(&m);
  doppio::AddBlob(&m);
  doppio::AddNet(&m);
  doppio::AddSolver(&m);
  doppio::AddCommand(&m);
  m.def("set_mode_cpu", [] { doppio::UseGpu(false); });
  m.def("set_mode_gpu", [] { doppio::UseGpu(true); });
  m.def("set_device", &doppio::ChooseGpu, py::arg("index"));
  m.def("set_random_seed", &doppio::ChooseSeed, py::arg("seed"));
  m.def("set_log_level", [](int level) { FLAGS_minloglevel = level; });
  m.def(
      "log", [](const std::string& text) { LOG(INFO) << text; }, py::arg("text"));
  m.def("layer_type_list", [] { return doppio::LayerTypes::Get().Names(); });
  m.def("_nearest", &doppio::Nearest);
  m.def("_further_fields", [](const std::string& type) {
    const auto* layer = doppio::LayerTypes::Get().Find(type);
    return layer == nullptr ? std::vector<std::string>() : layer->further_fields;
  });
  m.def("_keeps_places", [](const std::string& type) {
    const auto* layer = doppio::LayerTypes::Get().Find(type);
    return layer != nullptr && layer->keeps_coordinates;
  });
  m.def("solver_rank", &doppio::CurrentRank);
  m.def("solver_count", &doppio::CurrentRanks);
  m.def("schema", &doppio::Schema);
  m.def("load_numpy", &doppio::LoadNumpy);
  doppio::AddImages(&m);
  m.attr("version") = doppio::Version();
  m.attr("TRAIN") = static_cast<int>(doppio::TRAIN);
  m.attr("TEST") = static_cast<int>(doppio::TEST);
}
