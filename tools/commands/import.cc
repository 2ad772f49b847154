// `import`: makes a net and weights of an ONNX model, and files with which the net can be trained.
#include <climits>
#include <iostream>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/file.h"
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
  NetParameter net = imported.net;
  if (imported.images) *net.mutable_preprocessing() = *imported.images;
  if (net.ByteSizeLong() > INT_MAX)
    throw FileError("the weights need more than 2 GiB, the most that a .caffemodel file can hold");
  return net.SerializeAsString();
}

LayerParameter DataLayer(Phase phase, const LayerParameter& input,
                         const std::optional<Preprocessing>& images) {
  const BlobShape& shape = input.input_param().shape(0);
  LayerParameter layer;
  layer.set_name("data");
  layer.set_type("Data");
  layer.add_top(input.top(0));
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
  if (images) {
    *layer.mutable_transform_param()->mutable_mean_value() = images->mean();
    layer.mutable_transform_param()->set_scale(images->scale());
    *layer.mutable_transform_param()->mutable_std_value() = images->std_value();
  }
  return layer;
}

// Returns a net that trains a classifier: the model's layers between layers that read images and
// labels, and a loss in place of a softmax at the end. Throws UserError if the model is no
// classifier of images.
NetParameter TrainNet(const ImportedNet& imported) {
  NetParameter train = ClassifierOf(imported, "--train");
  const LayerParameter input = train.layer(0);
  *train.mutable_layer(0) = DataLayer(TRAIN, input, imported.images);
  *train.add_layer() = DataLayer(TEST, input, imported.images);
  // Behind the other data layer.
  for (int i = train.layer_size() - 1; i > 1; --i) train.mutable_layer()->SwapElements(i, i - 1);
  for (LayerParameter& layer : *train.mutable_layer()) layer.clear_blobs();
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
    std::cout << "Set source, batch_size" << (imported.images ? "" : " and mean_value")
              << " of the data layers before training.\n";
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
