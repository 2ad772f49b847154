#include <algorithm>
#include <climits>
#include <memory>

#include "core/base/error.h"
#include "core/net/spec/prototxt.h"
#include "tools/cli/word_list.h"
#include "tools/init/pretrained_files.h"

namespace doppio {
namespace {

// Adds a layer with fixed weights that makes the net's channels of the data's: it turns them, and
// multiplies each by its factor. A 1x1 convolution before the net does both exactly, because zeros
// that later layers add as padding are added to its result.
void AddConversion(bool turn, PretrainedNet* start) {
  const int channels = start->channels;
  PlainBlob weights{Shape{channels, channels, 1, 1}, std::vector<float>(channels * channels)};
  for (int to = 0; to < channels; ++to) {
    weights.data[to * channels + (turn ? channels - 1 - to : to)] =
        start->factors.empty() ? 1 : start->factors[to];
  }
  start->weights.layers.push_back({"prepare", "Convolution", {weights}});
  for (ZooLayer& one : start->net.layers) {
    const std::string data = "bottom: \"data\"";
    for (size_t at = 0; (at = one.text.find(data, at)) != std::string::npos;)
      one.text.replace(at, data.size(), "bottom: \"prepared\"");
    std::replace(one.param.mutable_bottom()->begin(), one.param.mutable_bottom()->end(),
                 std::string("data"), std::string("prepared"));
  }
  ZooLayer layer;
  const std::string fields = StrCat(
      "  name: \"prepare\"\n  type: \"Convolution\"\n  bottom: \"data\"\n  top: \"prepared\"\n"
      "  param { lr_mult: 0 }\n  convolution_param { num_output: ",
      channels, " kernel_size: 1 bias_term: false }\n");
  ParseText(fields, "prepare", &layer.param);
  layer.comment =
      "# Fixed weights turn the order of the channels where the trained net has another, "
      "and scale them.\n";
  layer.text = "layer {\n" + fields + "}\n";
  start->net.layers.insert(start->net.layers.begin(), std::move(layer));
}

}  // namespace

void TakeImagesOf(const std::string& kind, PretrainedNet* start, ImageFacts* facts) {
  const bool listed = kind == "folder" || kind == "list";
  if (start->channels == 1 && facts->channels == 3 && !listed) {
    throw FileError("'", start->weights.path, "' is for gray images, but the ", kind,
                    " data holds colours; convert it with doppio data convert --gray");
  }
  facts->gray = facts->channels == 1;
  facts->mixed_channels = facts->mixed_channels || facts->channels < start->channels;
  facts->channels = start->channels;
  const auto channels = static_cast<size_t>(start->channels);
  const Preprocessing& images = start->images;
  const bool rgb = images.channels() == Preprocessing::RGB;
  const bool turn = (rgb || images.channels() == Preprocessing::BGR) && rgb != (kind == "CIFAR");
  // With no mean, that of the images takes its place if the weights have no record.
  if (images.mean_size() == start->channels)
    facts->means.assign(images.mean().begin(), images.mean().end());
  else if (images.mean_size() > 0 || facts->means.size() != channels)
    facts->means.assign(channels, images.mean_size() > 0 ? images.mean(0) : facts->means[0]);
  if (turn && images.mean_size() > 0) std::reverse(facts->means.begin(), facts->means.end());
  auto* const deviations = start->net.train.mutable_std_value();
  if (turn) std::reverse(deviations->begin(), deviations->end());
  if (turn || !start->factors.empty()) AddConversion(turn, start);
}

InitWishes UsePretrained(const PretrainedNet& start, InitWishes wishes, InitPlan* plan) {
  plan->net = start.net;
  plan->why = "the net of " + start.weights.path;
  plan->weights = start.weights.path;
  plan->origin = start.origin;
  wishes.net = start.net.name;
  if (wishes.size == 0 && start.images.height() == start.images.width())
    wishes.size = static_cast<int>(start.images.height());
  return wishes;
}

std::string StartText(const std::string& folder) {
  SolverParameter weights;
  weights.add_weights(folder + "/" + kStartWeights);
  return StrCat(
      "# The weights that a new training starts from. The layers that have them learn at "
      "base_lr, a tenth\n# of the usual rate, unless their lr_mult is 0; new last layers "
      "learn ",
      kNewLayerFactor, " times as fast (lr_mult).\n", ToPrototxt(weights), "\n");
}

std::string StartWeights(const PretrainedNet& start, const std::string& deploy) {
  const std::vector<size_t> classifiers = ClassifiersOf(start.net);
  WeightsFile kept;
  kept.path = start.weights.path;
  NetParameter net;
  net.set_name(start.net.title);
  // Values behind the last classifier are for its old classes.
  for (size_t i = 0; i < classifiers.back(); ++i) {
    if (Contains(classifiers, i)) continue;
    for (const LayerBlobs& layer : start.weights.layers) {
      if (layer.name != start.net.layers[i].param.name()) continue;
      kept.layers.push_back(layer);
      LayerParameter* const to = net.add_layer();
      to->set_name(layer.name);
      to->set_type(layer.type);
      for (const PlainBlob& blob : layer.blobs) {
        BlobProto* const proto = to->add_blobs();
        for (const int64_t dim : blob.shape.dims()) proto->mutable_shape()->add_dim(dim);
        *proto->mutable_data() = {blob.data.begin(), blob.data.end()};
      }
    }
  }
  const Graph graph = GraphForUse(deploy);
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ParamStore params(device.get(), DType::kFloat32, 1);
  const std::vector<int> index = params.Resolve(graph);
  params.Place(false, {});
  params.Allocate(false);
  CopyWeights(kept, graph, index, &params);
  if (net.ByteSizeLong() > INT_MAX)
    throw FileError("'", kept.path, "' has more than 2 GiB of weights");
  return net.SerializeAsString();
}

}  // namespace doppio
