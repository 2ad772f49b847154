#include <cctype>
#include <filesystem>

#include "core/net/spec/prototxt.h"
#include "tools/init/pretrained_files.h"

namespace doppio {
namespace {

std::string PlainName(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) == 0 && byte < 0x80 && c != '-' && c != '.') c = '_';
  }
  return name;
}

std::string TextOf(const LayerParameter& layer) {
  return "layer {\n" + ToPrototxt(layer, 1) + "}\n";
}

}  // namespace

WeightsFile WeightsOfModel(const NetParameter& net, const std::string& path) {
  WeightsFile file;
  file.path = path;
  for (const LayerParameter& layer : net.layer()) {
    LayerBlobs to{layer.name(), layer.type(), {}};
    for (const BlobProto& blob : layer.blobs()) {
      const auto& dims = blob.shape().dim();
      to.blobs.push_back({Shape(std::vector<int64_t>(dims.begin(), dims.end())),
                          {blob.data().begin(), blob.data().end()}});
    }
    file.layers.push_back(std::move(to));
  }
  return file;
}

PretrainedNet NetOfModel(const ImportedNet& imported, const std::string& path) {
  NetParameter model = ClassifierOf(imported, "'" + path + "': init --weights");
  PretrainedNet start;
  start.origin = path;
  start.weights = WeightsOfModel(model, path);
  const LayerParameter input = model.layer(0);
  const auto& dims = input.input_param().shape(0).dim();
  start.channels = static_cast<int>(dims[1]);
  start.images.set_height(static_cast<uint32_t>(dims[2]));
  start.images.set_width(static_cast<uint32_t>(dims[3]));
  ZooNet& net = start.net;
  net.name = net.title = PlainName(path);
  model.mutable_layer()->DeleteSubrange(0, 1);
  bool prepares = true;
  for (LayerParameter& layer : *model.mutable_layer()) {
    for (std::string& blob : *layer.mutable_bottom()) {
      if (blob == input.top(0)) blob = "data";
    }
    prepares = prepares && layer.type() != "Convolution" && layer.type() != "InnerProduct";
    for (int i = 0; prepares && i < layer.blobs_size(); ++i) layer.add_param()->set_lr_mult(0);
    layer.clear_blobs();
    net.layers.push_back({"", TextOf(layer), layer});
  }
  ZooLayer& last = net.layers[ClassifiersOf(net)[0]];
  (last.param.type() == "Convolution"
       ? last.param.mutable_convolution_param()->mutable_weight_filler()
       : last.param.mutable_inner_product_param()->mutable_weight_filler())
      ->set_type("xavier");
  last.text = TextOf(last.param);
  // A published rate is not known. This one is usual without BatchNorm, which exporters fold into
  // the layers before it.
  net.solver.set_base_lr(0.01f);
  net.solver.set_momentum(0.9f);
  net.solver.set_weight_decay(0.0001f);
  net.batch = 64;
  constexpr int kSmallSide = 96, kShifts = 8;
  if (dims[2] > kSmallSide)
    net.train.set_crop_size(static_cast<uint32_t>(dims[2]));
  else
    net.train.set_pad(static_cast<uint32_t>(dims[2] / kShifts));
  return start;
}

}  // namespace doppio
