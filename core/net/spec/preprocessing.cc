#include "core/net/spec/preprocessing.h"

#include "core/net/contract/layer.h"

namespace doppio {
namespace {

std::optional<Preprocessing> DescribeLayers(const NetSpec& net) {
  for (const LayerSpec& layer : net.layers) {
    const LayerType* type = LayerTypes::Get().Find(layer.type());
    if (type != nullptr && type->describe_images != nullptr) return type->describe_images(layer);
  }
  return std::nullopt;
}

NetSpec SpecOf(const NetSource& source, Phase phase) {
  NetState state = source.state;
  state.set_phase(phase);
  return MakeNetSpec(source.net, source.places, state, NetOptions());
}

bool KnowsSize(const Preprocessing& images) {
  return images.resize_height() > 0 || images.keep_size() || images.has_changes();
}

}  // namespace

std::optional<Preprocessing> DescribePreprocessing(const NetSpec& net) {
  const std::optional<Preprocessing> images = DescribeLayers(net);
  return images ? images : net.preprocessing;
}

// A mistake is reported when the layer is used.
std::optional<Preprocessing> DescribeTestImages(const NetSource& source) {
  try {
    return DescribeLayers(SpecOf(source, TEST));
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Preprocessing> ForUse(std::optional<Preprocessing> test,
                                    const std::optional<Preprocessing>& train) {
  if (!test || !train) return test ? test : train;
  if (test->channels() == Preprocessing::AS_IN_DATA) test->set_channels(train->channels());
  if (test->class_name_size() == 0) *test->mutable_class_name() = train->class_name();
  if (!KnowsSize(*test) && KnowsSize(*train)) {
    test->set_resize_height(train->resize_height());
    test->set_resize_width(train->resize_width());
    if (train->keep_size()) test->set_keep_size(true);
  }
  return test;
}

std::optional<Preprocessing> DescribeForUse(const NetSource& source) {
  return ForUse(DescribeLayers(SpecOf(source, TEST)), DescribePreprocessing(SpecOf(source, TRAIN)));
}

}  // namespace doppio
