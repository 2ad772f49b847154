#include "tools/verify/witness.h"

#include <google/protobuf/util/json_util.h>

#include <filesystem>
#include <set>

#include "core/base/file.h"
#include "core/base/version.h"
#include "core/net/run/net.h"
#include "core/net/spec/prototxt.h"
#include "tools/cli/word_list.h"
#include "tools/export/array_files.h"
#include "tools/onnx/model_run.h"
#include "tools/onnx/net_run.h"

namespace doppio {
namespace {

// Returns the options of a plan in which the values of all points can be read.
PlanOptions PlanFor(const VerifyForm& form) {
  PlanOptions plan;
  plan.device = form.net->params()->device();
  plan.keep_all = true;
  for (const FormPoint& point : form.points)
    plan.shown.push_back(form.runnable.nodes[point.node].tops[0]);
  return plan;
}

class DoppioWitness : public Witness {
 public:
  explicit DoppioWitness(VerifyForm* form)
      : form_(*form),
        device_(form->net->params()->device()),
        net_(form->runnable, PlanFor(*form), form->net->params()) {}

  void Start(const std::vector<InputValues>& runs, bool inner) override {
    runs_ = &runs;
    inner_ = inner;
  }

  std::vector<PlainBlob> Values(size_t run) override {
    for (size_t i = 0; i < form_.inputs.size(); ++i)
      WriteTensor((*runs_)[run][i], net_.Blob(kGivenPrefix + form_.inputs[i].name), device_);
    net_.Forward();
    std::vector<PlainBlob> values(form_.points.size(), PlainBlob{Shape{0}, {}});
    for (size_t i = 0; i < values.size(); ++i) {
      if (!(inner_ && run == 0) && !Contains(form_.outputs, static_cast<int>(i))) continue;
      const int edge = net_.graph().nodes[form_.points[i].node].tops[0];
      values[i] = ReadTensor(net_.plan().values[edge], device_);
    }
    return values;
  }

  std::string program() const override { return "Doppio " + BuildIdentity(); }

 private:
  const VerifyForm& form_;
  Device* const device_;
  Net net_;
  const std::vector<InputValues>* runs_ = nullptr;
  bool inner_ = false;
};

class PythonWitness : public Witness {
 public:
  PythonWitness(const std::string& program, VerifyForm* form, std::string python,
                std::string folder, size_t number)
      : name_(program),
        form_(*form),
        python_(std::move(python)),
        folder_(std::move(folder)),
        own_(folder_ + "/" + std::to_string(number)) {
    const std::string missing = MissingProgram(python_, program);
    if (!missing.empty()) throw FileError("--with=", program, ": ", missing);
    job_ = {{"program", program},
            {"model", form_.files.model},
            {"inputs", nlohmann::json::array()},
            {"turned", nlohmann::json::array()}};
    const bool of_layers = program == "torch" || !form_.files.onnx();
    for (const FormInput& input : form_.inputs) {
      job_["inputs"].push_back((of_layers ? kGivenPrefix : "") + input.name);
      if (input.turned && !of_layers) job_["turned"].push_back(input.name);
    }
    of_layers ? PrepareLayers(form) : PrepareModel();
  }

  void Start(const std::vector<InputValues>& runs, bool inner) override {
    nlohmann::json job = job_;
    if (!inner) job["inner"] = nlohmann::json::array();
    std::vector<std::vector<NamedArray>> arrays(runs.size());
    for (size_t run = 0; run < runs.size(); ++run) {
      for (size_t i = 0; i < form_.inputs.size(); ++i)
        arrays[run].push_back({"", form_.inputs[i].shape, runs[run][i].data(), {}});
    }
    const ModelRuns done = RunModel(python_, folder_, job, arrays);
    if (!done.failed.empty()) throw FileError("--with=", name_, ": ", done.failed);
    runtime_ = done.runtime;
    if (done.refused.empty()) return;
    throw Error(done.judges ? ExitCode::kDifference : ExitCode::kFile,
                runtime_ + " does not take '" + form_.files.argument + "': " + done.refused);
  }

  std::vector<PlainBlob> Values(size_t run) override {
    std::vector<PlainBlob> told =
        ValuesOfRun(folder_, run, form_.outputs.size() + inner_points_.size());
    std::vector<PlainBlob> values(form_.points.size(), PlainBlob{Shape{0}, {}});
    for (size_t i = 0; i < told.size(); ++i) {
      const bool output = i < form_.outputs.size();
      values[output ? form_.outputs[i] : inner_points_[i - form_.outputs.size()]] =
          std::move(told[i]);
    }
    return values;
  }

  std::string program() const override { return runtime_; }

 private:
  void AddInner(int point, const std::string& name) {
    job_["inner"].push_back(name);
    inner_points_.push_back(point);
  }

  // Names the model's own values. For ONNX Runtime, writes a copy of the model whose outputs are
  // all values of points, too.
  void PrepareModel() {
    job_["outputs"] = form_.model_outputs;
    job_["inner"] = nlohmann::json::array();
    onnx::ModelProto model = ReadOnnxModel(form_.files.model);
    std::set<std::string> made, outputs(form_.model_outputs.begin(), form_.model_outputs.end());
    for (const onnx::NodeProto& node : model.graph().node())
      made.insert(node.output().begin(), node.output().end());
    for (size_t i = 0; i < form_.points.size(); ++i) {
      const std::string& value = form_.points[i].blob;
      if (made.count(value) == 0 || !outputs.insert(value).second) continue;
      AddInner(static_cast<int>(i), value);
      model.mutable_graph()->add_output()->set_name(value);
    }
    if (name_ != "onnxruntime") return;
    const std::string path = own_ + ".onnx", from = DirName(form_.files.model);
    job_["inner_model"] = path;
    for (const onnx::TensorProto& tensor : model.graph().initializer()) {
      for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
        std::error_code exists;
        if (entry.key() == "location")
          std::filesystem::create_symlink(std::filesystem::absolute(from + entry.value()),
                                          folder_ + "/" + entry.value(), exists);
      }
    }
    WriteFileAtomically(path, model.SerializeAsString());
  }

  // Writes the layers of the net as the program reads them: the messages with arrays, or Caffe's
  // files.
  void PrepareLayers(VerifyForm* form) {
    const Graph& graph = form_.runnable;
    const bool torch = name_ == "torch";
    job_["inner"] = job_["outputs"] = nlohmann::json::array();
    const auto name_of = [&](int point) {
      const FormPoint& at = form_.points[point];
      return torch ? std::to_string(at.node) : at.layer;
    };
    for (const int output : form_.outputs) job_["outputs"].push_back(name_of(output));
    for (size_t i = 0; i < form_.points.size(); ++i) {
      const int point = static_cast<int>(i);
      if (!Contains(form_.outputs, point)) AddInner(point, name_of(point));
    }
    // The weights in the order of the runnable net, whose layers have names of the whole one.
    const std::vector<int> index = form->net->params()->Resolve(graph);
    WeightTensors weights = WeightsOf(index, *form->net->params(), false);
    weights.device = nullptr;
    if (!torch) {
      NetParameter net;
      net.set_name(graph.spec.name);
      for (const LayerSpec& layer : graph.spec.layers) *net.add_layer() = layer.param;
      WriteFileAtomically(own_ + ".prototxt", ToPrototxt(net));
      WriteWeights(own_ + ".caffemodel", false, graph, weights);
      job_["model"] = own_ + ".prototxt";
      job_["weights"] = own_ + ".caffemodel";
      return;
    }
    std::vector<NamedArray> arrays;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      std::string text;
      google::protobuf::util::JsonPrintOptions names;
      names.preserve_proto_field_names = true;
      const LayerSpec& layer = graph.layer(static_cast<int>(i));
      if (!google::protobuf::util::MessageToJsonString(layer.param, &text, names).ok())
        throw layer.Mistake("", "its names are not in UTF-8, so Python cannot read them");
      job_["layers"].push_back(nlohmann::json::parse(text));
      const std::vector<int>& params = graph.nodes[i].params;
      for (size_t j = 0; j < params.size(); ++j) {
        arrays.push_back({std::to_string(i) + "." + std::to_string(j),
                          graph.nodes[i].param_shapes[j],
                          weights.values[params[j]].data<float>(),
                          {}});
      }
    }
    job_["weights"] = own_ + ".npz";
    WriteNpz(own_ + ".npz", arrays);
  }

  const std::string name_;
  const VerifyForm& form_;
  const std::string python_, folder_, own_;
  nlohmann::json job_;
  std::vector<int> inner_points_;
  std::string runtime_;
};

}  // namespace

bool CanRun(const std::string& program, const VerifyForm& form) {
  return program == "onnxruntime" ? form.files.onnx()
         : program == "opencv"    ? true
                                  : form.net != nullptr;
}

std::unique_ptr<Witness> MakeWitness(const std::string& program, VerifyForm* form,
                                     const std::string& python, const std::string& folder,
                                     size_t number) {
  if (program == "doppio") return std::make_unique<DoppioWitness>(form);
  return std::make_unique<PythonWitness>(program, form, python, folder, number);
}

}  // namespace doppio
