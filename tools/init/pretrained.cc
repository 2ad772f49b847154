#include "tools/init/pretrained.h"

#include <algorithm>

#include "core/base/content/content_kind.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tools/cli/shell_quoted.h"
#include "tools/data/image_input.h"
#include "tools/init/pretrained_files.h"

namespace doppio {
namespace {

constexpr float kWhite = 255;

// The images that torchvision's published weights take: 0 to 1, less these means, divided by these
// deviations, in the order red, green, blue.
void TakeTorchImages(PretrainedNet* start) {
  Preprocessing& images = start->images;
  if (start->channels != 3) return images.set_scale(1 / kWhite);
  const float deviations[] = {0.229f, 0.224f, 0.225f};
  const float average = (deviations[0] + deviations[1] + deviations[2]) / 3;
  images.set_channels(Preprocessing::RGB);
  for (const float mean : {0.485f, 0.456f, 0.406f}) images.add_mean(kWhite * mean);
  images.set_scale(1 / (kWhite * average));
  for (const float deviation : deviations) start->factors.push_back(average / deviation);
}

// Throws FileError for a file of PyTorch or Keras that only these programs can read.
[[noreturn]] void RefusePickle(const std::string& path) {
  if (EndsWith(path, ".keras")) {
    throw FileError("'", path,
                    "' is a model of Keras, which only Keras reads; export it: "
                    "keras.saving.load_model('",
                    path, "').export('net.onnx', format='onnx')");
  }
  const std::string script =
      "import torch; from safetensors.torch import save_file\n"
      "save_file({k: v.contiguous() for k, v in torch.load('" +
      path + "', weights_only=True).items()}, 'net.safetensors')";
  throw FileError("'", path,
                  "' is a pickle of PyTorch, which can run any code when it is read; "
                  "convert it, and use net.safetensors: python3 -c ",
                  ShellQuoted(script));
}

// torchvision's ResNets pad before the first pooling and leave out a last window that is not whole,
// and their bottlenecks have the stride in the 3x3 convolution (ResNet V1.5).
void TakeTorchLayers(ZooNet* net) {
  if (net->name.rfind("resnet", 0) != 0) return;
  const std::string stride = " stride: 2", middle = "kernel_size: 3";
  bool moved = false;
  for (ZooLayer& layer : net->layers) {
    const std::string& name = layer.param.name();
    const size_t strided = layer.text.find(stride), kernel = layer.text.find(middle);
    if (layer.param.type() == "Pooling" && kernel != std::string::npos)
      layer.text.insert(kernel, "pad: 1 round_mode: FLOOR ");
    if (layer.param.type() != "Convolution") continue;
    if (EndsWith(name, "_branch2a") && kernel == std::string::npos &&
        strided != std::string::npos) {
      layer.text.erase(strided, stride.size());
      moved = true;
    } else if (moved && EndsWith(name, "_branch2b")) {
      layer.text.insert(kernel + middle.size(), stride);
      moved = false;
    }
  }
}

// Returns the net of models/ that `match` names, with the file's layers.
PretrainedNet OfZoo(WeightsFile file, ZooMatch match, bool torch) {
  PretrainedNet start;
  start.origin = "models/" + match.net.name;
  torch = torch && !match.renamed.empty();
  if (torch) TakeTorchLayers(&match.net);
  if (!match.renamed.empty()) {
    start.notes.push_back("the layers of '" + file.path + "' have other names than those of " +
                          start.origin + "; they are matched by order and shape");
  }
  if (!match.alike.empty()) {
    start.notes.push_back("the weights fit models/" + match.alike + ", too; --net=" + match.alike +
                          " chooses it");
  }
  start.net = std::move(match.net);
  bool first = true;
  for (LayerBlobs& layer : file.layers) {
    if (!match.renamed.empty()) layer.name = match.renamed[layer.name];
    if (layer.blobs.empty() || layer.blobs[0].shape.rank() != 4) continue;
    if (first && layer.blobs[0].shape[1] == 1) start.channels = 1;
    first = false;
    for (const ZooLayer& one : start.net.layers) {
      if (one.param.name() != layer.name || !one.param.convolution_param().bias_term()) continue;
      const int64_t outputs = layer.blobs[0].shape[0];
      if (layer.blobs.size() == 1)
        layer.blobs.push_back({Shape{outputs}, std::vector<float>(static_cast<size_t>(outputs))});
    }
  }
  if (torch) {
    TakeTorchImages(&start);
  } else {
    start.images.set_channels(start.channels == 1 ? Preprocessing::GRAY : Preprocessing::BGR);
    *start.images.mutable_mean() = start.net.train.mean_value();
    start.images.set_scale(start.net.train.scale());
    *start.images.mutable_std_value() = start.net.train.std_value();
  }
  start.weights = std::move(file);
  return start;
}

PretrainedNet ReadNet(const std::string& path, const std::string& net) {
  CheckExists(path);
  const ContentKind kind = KindOfContent(ReadHead(path, kKindBytes));
  if (kind == ContentKind::kPickle || kind == ContentKind::kZip) RefusePickle(path);
  const bool torch = kind == ContentKind::kSafetensors || EndsWith(path, ".safetensors");
  ImportedNet model;
  if (EndsWith(path, ".onnx")) model = ImportOnnxFile(path);
  const bool has_net = model.net.layer_size() > 0;
  WeightsFile file = has_net ? WeightsOfModel(model.net, path)
                     : torch ? ReadStateDict(path)
                             : ReadWeights(path);
  if (has_net) file.preprocessing = model.images;
  std::string why;
  std::optional<ZooMatch> match = MatchZooNet(file, net, &why);
  if (has_net && net.empty() && (!match || !match->renamed.empty())) {
    PretrainedNet start = NetOfModel(model, path);
    start.weights.preprocessing = model.images;
    TakeTorchImages(&start);
    return start;
  }
  if (match) return OfZoo(std::move(file), std::move(*match), has_net || torch);
  if (!net.empty())
    throw FileError("'", path, "' is not for --net=", net, ": ", why,
                    has_net ? "; without --net, the project gets the net of the file" : "");
  throw FileError("'", path,
                  "' is for no net of models/: neither the names nor the order and "
                  "shapes of its layers are those of one; an ONNX file brings its own net: export "
                  "the model as ONNX and use that");
}

}  // namespace

PretrainedNet ReadPretrained(const std::string& path, const std::string& net,
                             const ImageWishes& wishes) {
  PretrainedNet start = ReadNet(path, net);
  if (start.channels != 1 && start.channels != 3)
    throw FileError("'", path, "' is for images of ", start.channels, " channels, not of 1 or 3");
  Preprocessing& images = start.images;
  const bool recorded = start.weights.preprocessing.has_value();
  if (recorded) {
    const uint32_t height = images.height(), width = images.width();
    images = *start.weights.preprocessing;
    if (images.height() == 0) images.set_height(height);
    if (images.width() == 0) images.set_width(width);
    if (images.mean_size() == 0) images.add_mean(0);
    start.factors.clear();
    if (images.changes().has_noise_param() || images.has_mean_file()) {
      start.notes.push_back("of the preparation of images that '" + path +
                            "' records, a mean image "
                            "and changes of colours are not taken over; the channels' means are");
    }
  }
  if (wishes.channels) images.set_channels(*wishes.channels);
  if (wishes.scale) {
    images.set_scale(*wishes.scale);
    start.factors.clear();
  }
  if (!wishes.mean.empty()) {
    const std::vector<float> means = MeansOf(wishes.mean, start.channels);
    *images.mutable_mean() = {means.begin(), means.end()};
  }
  if (!recorded) {
    start.notes.push_back("'" + path + "' does not record how its images were prepared; assumed: " +
                          ToText(images) + "; --rgb, --mean and --scale say it otherwise");
  }
  start.net.train.clear_mean_value();
  start.net.train.set_scale(images.scale());
  *start.net.train.mutable_std_value() = images.std_value();
  return start;
}

}  // namespace doppio
