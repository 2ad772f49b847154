// Layers that move elements or reshape a blob.
#include <algorithm>

#include "layers/shape/tile_form.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

void AddReshape(const OnnxLayer& layer) {
  layer.SetTop(layer.Reshape(layer.in(), layer.bottom(), layer.top()));
}

void AddPermute(const OnnxLayer& layer) {
  const auto& given = layer.spec().param.permute_param().order();
  std::vector<int64_t> order(given.begin(), given.end());
  // Axes that are not named follow in their original order.
  for (int64_t axis = 0; axis < layer.bottom().rank(); ++axis) {
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  }
  layer.SetTop(layer.Add("Transpose", {layer.in()}, {{"perm", order}}));
}

void AddCrop(const OnnxLayer& layer) {
  const CropParameter& p = layer.spec().param.crop_param();
  const Shape &bottom = layer.bottom(), &top = layer.top();
  const int first = bottom.canonical_axis(p.axis());
  std::vector<int64_t> axes, starts, ends;
  for (int axis = first; axis < bottom.rank(); ++axis) {
    if (bottom[axis] == top[axis]) continue;
    const int64_t offset = p.offset_size() == 0   ? 0
                           : p.offset_size() == 1 ? p.offset(0)
                                                  : p.offset(axis - first);
    axes.push_back(axis);
    starts.push_back(offset);
    ends.push_back(offset + top[axis]);
  }
  layer.SetTop(axes.empty() ? layer.in()
                            : layer.Add("Slice", {layer.in(), layer.Integers(starts),
                                                  layer.Integers(ends), layer.Integers(axes)}));
}

// Adds a layer that is a reshape to `apart`, a transposition by `order`, and a reshape to the top.
void AddTurned(const OnnxLayer& layer, const Shape& apart, const std::vector<int64_t>& order) {
  Shape turned;
  for (const int64_t axis : order) turned.push_back(apart[static_cast<int>(axis)]);
  const std::string parts = layer.Reshape(layer.in(), layer.bottom(), apart);
  layer.SetTop(
      layer.Reshape(layer.Add("Transpose", {parts}, {{"perm", order}}), turned, layer.top()));
}

void AddReorg(const OnnxLayer& layer) {
  const ReorgParameter& p = layer.spec().param.reorg_param();
  const Shape& bottom = layer.bottom();
  const int64_t s = p.stride(), part = bottom[1] / (s * s);
  if (p.reverse()) {
    AddTurned(layer, {bottom[0], s, s, part, bottom[2], bottom[3]}, {0, 3, 4, 1, 5, 2});
  } else {
    AddTurned(layer, {bottom[0], part, bottom[2], s, bottom[3], s}, {0, 3, 5, 1, 2, 4});
  }
}

void AddShuffleChannel(const OnnxLayer& layer) {
  const Shape& bottom = layer.bottom();
  const int64_t groups = layer.spec().param.shuffle_channel_param().group();
  AddTurned(layer, {bottom[0], groups, bottom[1] / groups, bottom.count(2)}, {0, 2, 1, 3});
}

void AddTile(const OnnxLayer& layer) {
  std::vector<int64_t> repeats(layer.bottom().rank(), 1);
  const TileForm& form = layer.Form<TileForm>();
  repeats[form.axis] = form.tiles;
  layer.SetTop(layer.Add("Tile", {layer.in(), layer.Integers(repeats)}));
}

DOPPIO_REGISTER(OnnxMappings, "Reshape", {"Reshape", &AddReshape, OnnxRole::kMoves});
DOPPIO_REGISTER(OnnxMappings, "Flatten", {"Reshape", &AddReshape, OnnxRole::kMoves});
DOPPIO_REGISTER(OnnxMappings, "Permute", {"Transpose", &AddPermute, OnnxRole::kMoves});
DOPPIO_REGISTER(OnnxMappings, "Crop", {"Slice", &AddCrop});
DOPPIO_REGISTER(OnnxMappings, "Reorg", {"Reshape, Transpose", &AddReorg});
DOPPIO_REGISTER(OnnxMappings, "ShuffleChannel", {"Reshape, Transpose", &AddShuffleChannel});
DOPPIO_REGISTER(OnnxMappings, "Tile", {"Tile", &AddTile, OnnxRole::kMoves});

}  // namespace
}  // namespace doppio
