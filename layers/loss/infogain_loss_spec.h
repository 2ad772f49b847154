// What the file says to InfogainLoss, for its kernels on every device.
#ifndef DOPPIO_LAYERS_LOSS_INFOGAIN_LOSS_SPEC_H_
#define DOPPIO_LAYERS_LOSS_INFOGAIN_LOSS_SPEC_H_

#include <vector>

#include "core/base/file.h"
#include "layers/loss/weighted_softmax_loss.h"

namespace doppio {

// The softmax is over the axis of the labels. A file that names both axes means one.
inline SoftmaxShape InfogainShape(const LayerSpec& spec, const Shape& prediction) {
  const InfogainLossParameter& param = spec.param.infogain_loss_param();
  const SoftmaxShape s =
      SoftmaxShapeAround(spec, "infogain_loss_param.axis", param.axis(), prediction);
  if (spec.param.softmax_param().has_axis()) {
    const SoftmaxShape other = SoftmaxShapeOf(spec, prediction);
    if (other.outer != s.outer || other.classes != s.classes) {
      throw spec.Mistake("softmax_param.axis",
                         "the softmax is over axis " +
                             std::to_string(spec.param.softmax_param().axis()) +
                             ", but infogain_loss_param.axis is " + std::to_string(param.axis()) +
                             "; both are the axis of the classes, so remove softmax_param.axis");
    }
  }
  return s;
}

// Returns the mistake if `source` names no file.
inline std::optional<Error> MissingMatrix(const LayerSpec& spec) {
  const std::string& path = spec.param.infogain_loss_param().source();
  if (FileExists(path)) return std::nullopt;
  return spec.Mistake("infogain_loss_param.source", "there is no file '" + path + "'");
}

// The matrix in `source`, a binary BlobProto of classes x classes. A net that is only looked at or
// timed does without the file: then the identity.
inline std::vector<float> ReadInfogainMatrix(const LayerSpec& spec, int64_t classes) {
  const std::string& path = spec.param.infogain_loss_param().source();
  const auto mistake = [&](const std::string& text) {
    return spec.Mistake("infogain_loss_param.source", text);
  };
  const size_t count = static_cast<size_t>(classes * classes);
  const std::optional<Error> missing = MissingMatrix(spec);
  if (missing && spec.options.data != DataMode::kOpen) {
    std::vector<float> identity(count);
    for (size_t i = 0; i < count; i += static_cast<size_t>(classes) + 1) identity[i] = 1;
    return identity;
  }
  if (missing) throw *missing;
  BlobProto blob;
  if (!blob.ParseFromString(ReadFile(path)))
    throw mistake("'" + path + "' is not a matrix in Caffe's form (a binary BlobProto)");
  std::vector<float> matrix(blob.data().begin(), blob.data().end());
  if (matrix.empty()) matrix.assign(blob.double_data().begin(), blob.double_data().end());
  if (matrix.size() != count) {
    throw mistake("'" + path + "' holds " + std::to_string(matrix.size()) +
                  " values; the prediction has " + std::to_string(classes) +
                  " classes, so the matrix is " + std::to_string(classes) + "x" +
                  std::to_string(classes));
  }
  return matrix;
}

inline WeightedSoftmaxForm InfogainForm(const LayerSpec& spec, const Shape& prediction) {
  const SoftmaxShape s = InfogainShape(spec, prediction);
  WeightedSoftmaxForm form{s, LossNormalizer(spec, LossParameter::VALID, s.outer, s.inner)};
  form.least = 1e-20;  // Caffe's
  form.matrix_bottom = spec.param.bottom_size() > 2;
  if (!form.matrix_bottom) form.matrix = ReadInfogainMatrix(spec, s.classes);
  return form;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_INFOGAIN_LOSS_SPEC_H_
