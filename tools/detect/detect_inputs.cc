#include "tools/detect/detect_inputs.h"

#include <vector>

#include "core/base/error.h"
#include "core/net/contract/layer.h"
#include "core/tensor/shape.h"

namespace doppio {
namespace {

constexpr char kImageInfo[] = "im_info";

// Gives each top of an Input layer a shape of its own.
void SeparateShapes(LayerParameter* layer) {
  InputParameter* input = layer->mutable_input_param();
  if (input->shape_size() != 1) return;
  while (input->shape_size() < layer->top_size()) *input->add_shape() = input->shape(0);
}

std::string ShapeText(const BlobShape& shape) {
  return Shape(std::vector<int64_t>(shape.dim().begin(), shape.dim().end())).ToString();
}

// Returns the shape of an image of an input. Throws UserError if it is none.
ImageShape ReadImageShape(const LayerSpec& layer, const std::string& top, const BlobShape& shape) {
  const auto fits = [&](int axis) { return shape.dim(axis) >= 1 && shape.dim(axis) <= 65535; };
  const bool image = shape.dim_size() == 4 && (shape.dim(1) == 1 || shape.dim(1) == 3);
  layer.RefuseIf(!image || !fits(2) || !fits(3), "input_param", "input '", top, "' is ",
                 ShapeText(shape),
                 "; images need 1 or 3 channels, a height and a width, and the only other input "
                 "may be im_info");
  return {static_cast<int>(shape.dim(1)), static_cast<int>(shape.dim(2)),
          static_cast<int>(shape.dim(3))};
}

// Sets the shape of im_info for one image. Throws UserError unless it has three numbers.
void SetInfoShape(const LayerSpec& layer, BlobShape* shape) {
  int64_t count = 1;
  for (int axis = 1; axis < shape->dim_size(); ++axis) count *= shape->dim(axis);
  if (shape->dim_size() < 2 || count != 3) {
    throw layer.Mistake("input_param", "input 'im_info' is " + ShapeText(*shape) +
                                           "; it must be 1x3: height, width and scale of an image");
  }
  shape->set_dim(0, 1);
}

}  // namespace

DetectInputs SetDetectInputs(int64_t batch, const ImageShape& image, NetSpec* net) {
  DetectInputs inputs;
  BlobShape* data = nullptr;
  for (LayerSpec& layer : net->layers) {
    if (!TakesInput(layer.type())) continue;
    SeparateShapes(&layer.param);
    InputParameter* input = layer.param.mutable_input_param();
    for (int i = 0; i < layer.param.top_size() && i < input->shape_size(); ++i) {
      const std::string& top = layer.param.top(i);
      if (top == kImageInfo) {
        SetInfoShape(layer, input->mutable_shape(i));
        inputs.info = top;
        continue;
      }
      layer.RefuseIf(data != nullptr, "", "input '", top, "' is a second input of images beside '",
                     inputs.data, "'; detect supports nets with one");
      data = input->mutable_shape(i);
      inputs.image = ReadImageShape(layer, top, *data);
      inputs.data = top;
    }
  }
  if (data == nullptr) {
    throw UserError(
        net->at,
        "the net has no Input layer with images; detect needs a deploy net, without data layers");
  }
  data->set_dim(0, inputs.info.empty() ? batch : 1);
  if (image.height > 0) {
    inputs.image = {inputs.image.channels, image.height, image.width};
    data->set_dim(2, image.height);
    data->set_dim(3, image.width);
  }
  return inputs;
}

}  // namespace doppio
