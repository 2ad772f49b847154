// `import`: makes a net and weights of an ONNX model, and files with which the net can be trained.
#include <algorithm>
#include <climits>
#include <iostream>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/net/graph/graph.h"
#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"
#include "tools/cli/command.h"
#include "tools/export/waiting_room.h"
#include "tools/onnx_import/import_onnx.h"

namespace doppio {
namespace {

// Returns the net without its weights, as text.
std::string DeployText(const ImportedNet& imported) {
  NetParameter net = imported.net;
  for (LayerParameter& layer : *net.mutable_layer()) layer.clear_blobs();
  return ToPrototxt(net);
}

std::string WeightBytes(const ImportedNet& imported) {
  if (imported.net.ByteSizeLong() > INT_MAX)
    throw FileError("the weights need more than 2 GiB, the most that a .caffemodel file can hold");
  return imported.net.SerializeAsString();
}

LayerParameter DataLayer(Phase phase, const std::string& blob, const BlobShape& shape) {
  LayerParameter layer;
  layer.set_name("data");
  layer.set_type("Data");
  layer.add_top(blob);
  layer.add_top("label");
  layer.add_include()->set_phase(phase);
  DataParameter* const data = layer.mutable_data_param();
  data->set_source(phase == TRAIN ? "train_lmdb" : "val_lmdb");
  data->set_backend(DataParameter::LMDB);
  data->set_batch_size(32);
  if (phase == TRAIN) {
    data->set_shuffle(true);
    layer.mutable_transform_param()->set_mirror(true);
  }
  if (shape.dim(1) == 1) layer.mutable_transform_param()->set_force_gray(true);
  layer.mutable_transform_param()->set_crop_h(static_cast<uint32_t>(shape.dim(2)));
  layer.mutable_transform_param()->set_crop_w(static_cast<uint32_t>(shape.dim(3)));
  return layer;
}

LayerParameter ScoreLayer(const std::string& type, const std::string& scores) {
  LayerParameter layer;
  layer.set_name(type == "Accuracy" ? "accuracy" : "loss");
  layer.set_type(type);
  layer.add_bottom(scores);
  layer.add_bottom("label");
  layer.add_top(layer.name());
  if (type == "Accuracy") layer.add_include()->set_phase(TEST);
  return layer;
}

// Removes the softmax that computes `output` at the end of the net, or its logarithm. Returns the
// scores that it reads, or `output` if there is none.
std::string TakeSoftmax(const std::string& output, NetParameter* net) {
  const auto computes = [&](int from_end, const std::string& type, const std::string& blob) {
    const int layer = net->layer_size() - from_end;
    return layer >= 0 && net->layer(layer).type() == type && net->layer(layer).top(0) == blob;
  };
  int last = 0;
  if (computes(1, "Softmax", output)) last = 1;
  if (computes(1, "Log", output) &&
      computes(2, "Softmax", net->layer(net->layer_size() - 1).bottom(0)))
    last = 2;
  if (last == 0) return output;
  std::string scores = net->layer(net->layer_size() - last).bottom(0);
  for (int i = 0; i < last; ++i) net->mutable_layer()->RemoveLast();
  return scores;
}

// Returns a net that trains a classifier: the model's layers between layers that read images and
// labels, and a loss in place of a softmax at the end. Throws UserError if the model is no
// classifier of images.
NetParameter TrainNet(const ImportedNet& imported) {
  NetParameter net = imported.net;
  const auto is_input = [](const LayerParameter& layer) { return layer.type() == "Input"; };
  const int inputs =
      static_cast<int>(std::count_if(net.layer().begin(), net.layer().end(), is_input));
  const LayerParameter input = net.layer(0);
  const std::string purpose =
      "--train is for models with one input of images, N x C x H x W, and one output; ";
  const int outputs = static_cast<int>(imported.outputs.size());
  if (inputs != 1 || outputs != 1) {
    const auto number = [](int count, const std::string& what) {
      return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
    };
    throw UserError({}, purpose + "this one has " + number(inputs, "input") + " and " +
                            number(outputs, "output"));
  }
  const auto& dims = input.input_param().shape(0).dim();
  if (dims.size() != 4) {
    throw UserError({}, purpose + "the input of this one is " +
                            Shape(std::vector<int64_t>(dims.begin(), dims.end())).ToString());
  }
  const std::string scores = TakeSoftmax(imported.outputs[0], &net);
  NetParameter train;
  train.set_name(net.name());
  for (const Phase phase : {TRAIN, TEST})
    *train.add_layer() = DataLayer(phase, input.top(0), input.input_param().shape(0));
  for (int i = 1; i < net.layer_size(); ++i) {
    *train.add_layer() = net.layer(i);
    train.mutable_layer(train.layer_size() - 1)->clear_blobs();
  }
  for (const char* type : {"SoftmaxWithLoss", "Accuracy"})
    *train.add_layer() = ScoreLayer(type, scores);
  return train;
}

SolverParameter TrainSolver(const std::string& prefix) {
  SolverParameter solver;
  solver.set_net(prefix + "_train_val.prototxt");
  solver.add_weights(prefix + ".caffemodel");
  solver.add_test_iter(50);
  solver.set_test_interval(500);
  solver.set_base_lr(0.001f);
  solver.set_lr_policy("fixed");
  solver.set_momentum(0.9f);
  solver.set_weight_decay(0.0001f);
  solver.set_display(20);
  solver.set_max_iter(1000);
  solver.set_snapshot(500);
  solver.set_snapshot_prefix(prefix);
  return solver;
}

// Returns the path without the suffix ".onnx".
std::string PrefixOf(const std::string& model) {
  const std::string suffix = ".onnx";
  return EndsWith(model, suffix) ? model.substr(0, model.size() - suffix.size()) : model;
}

ExitCode RunImport(const CommandLine& line, bool* began) {
  const std::string& model = line.files[0];
  const std::string prefix = line.files.size() > 1 ? line.files[1] : PrefixOf(model);
  const ImportedNet imported = ImportOnnxFile(model);
  std::vector<std::pair<std::string, std::string>> files = {
      {prefix + ".prototxt", DeployText(imported)},
      {prefix + ".caffemodel", WeightBytes(imported)}};
  if (line.flags.train) {
    files.push_back({prefix + "_train_val.prototxt", ToPrototxt(TrainNet(imported))});
    files.push_back({prefix + "_solver.prototxt", ToPrototxt(TrainSolver(prefix))});
  }
  *began = true;
  const WaitingRoom room(files[0].first);
  for (const auto& [path, content] : files) WriteFileAtomically(room.Of(path), content);
  for (const auto& file : files) room.Release(file.first);
  for (const auto& [path, content] : files)
    std::cout << path << " written, " << Bytes(static_cast<int64_t>(content.size())) << '\n';
  for (const std::string& input : imported.turned_inputs)
    std::cout << "Input " << input << " is N x C x H x W; in the model, channels are last.\n";
  if (line.flags.train)
    std::cout << "Set source, batch_size and mean_value of the data layers before training.\n";
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "import",
                {"makes a net and weights of an ONNX model",
                 {"train"},
                 {},
                 "NET.onnx [PREFIX]",
                 "doppio import resnet18.onnx",
                 &RunImport});

}  // namespace
}  // namespace doppio
