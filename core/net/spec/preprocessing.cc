#include "core/net/spec/preprocessing.h"

#include "core/net/graph/layer.h"

namespace doppio {

std::optional<Preprocessing> DescribePreprocessing(const NetSpec& net) {
  for (const LayerSpec& layer : net.layers) {
    const LayerType* type = LayerTypes::Get().Find(layer.type());
    if (type != nullptr && type->describe_images != nullptr) return type->describe_images(layer);
  }
  return net.preprocessing;
}

}  // namespace doppio
