#include "tools/onnx/onnx_params.h"

#include "tools/export/param_names.h"

namespace doppio {

double OnnxParams::batch_norm_factor() const {
  return BatchNormFactor(graph_->net(), node(), graph_->weights());
}

std::string OnnxParams::Constant(int i) const {
  const int param = node().params[i];
  const Shape& owners = graph_->net().params[param].shape;
  return owners == shape(i) ? graph_->AddWeight(param) : Constant(i, shape(i));
}

std::string OnnxParams::Constant(int i, const Shape& shape) const {
  return graph_->Add({ParamName(graph_->net(), node().params[i]), shape, Values<float>(i)});
}

std::string OnnxParams::PerChannel(int i, int rank) const {
  Shape broadcast = shape(i);
  for (int axis = 2; axis < rank && broadcast.rank() > 0; ++axis) broadcast.push_back(1);
  return Constant(i, broadcast);
}

std::string OnnxParams::Transposed(int i) const {
  const std::vector<float> stored = Values<float>(i);
  const int64_t rows = shape(i)[0], columns = shape(i)[1];
  std::vector<float> transposed(stored.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) transposed[c * rows + r] = stored[r * columns + c];
  }
  const std::string name = graph_->net().layer(layer_).name() + "/constant";
  return graph_->Add({name, {columns, rows}, std::move(transposed)});
}

}  // namespace doppio
