#include "tools/nets/object_net.h"

#include <algorithm>

#include "tools/cli/word_list.h"

namespace doppio {

bool MakesDetections(const std::string& layer_type) {
  return layer_type == "DetectionOutput" || layer_type == "RegionOutput" ||
         layer_type == "RoiDetections";
}

bool FindsObjects(const NetParameter& net) {
  if (Contains(net.input(), "im_info")) return true;
  return std::any_of(net.layer().begin(), net.layer().end(), [](const LayerParameter& layer) {
    return MakesDetections(layer.type()) ||
           (layer.type() == "Input" && Contains(layer.top(), "im_info"));
  });
}

}  // namespace doppio
