// InfogainLoss: cross entropy of the softmax of a prediction, in which a matrix weights all classes
// for each label. The matrix comes from a file or is the third bottom. The optional second top is
// the softmax.
#include "core/base/file.h"
#include "layers/loss/softmax_labels.h"
#include "layers/loss/weighted_softmax_loss.h"

namespace doppio {
namespace {

// Throws UserError for fields of loss_param that InfogainLoss does not support.
void CheckLossParam(const LayerSpec& spec) {
  const LossParameter& param = spec.param.loss_param();
  spec.RefuseIf(param.has_normalize(), "loss_param.normalize",
                "InfogainLoss does not take normalize; use normalization: VALID for true, "
                "BATCH_SIZE for false");
  spec.RefuseIf(param.label_smoothing() != 0, "loss_param.label_smoothing",
                "InfogainLoss has no label_smoothing; write the smoothed weights into the matrix");
  spec.RefuseIf(param.class_weighting_size() > 0, "loss_param.class_weighting",
                "InfogainLoss has no class_weighting; write the weights into the matrix");
  spec.RefuseIf(param.class_counts_size() > 0, "loss_param.class_counts",
                "InfogainLoss has no class_counts; write the weights into the matrix");
}

// Returns the shape of the softmax, which is over the axis of the labels. Throws UserError if
// softmax_param gives another axis.
SoftmaxShape InfogainShape(const LayerSpec& spec, const Shape& prediction) {
  const InfogainLossParameter& param = spec.param.infogain_loss_param();
  const SoftmaxShape s =
      SoftmaxShapeAround(spec, "infogain_loss_param.axis", param.axis(), prediction);
  if (spec.param.softmax_param().has_axis()) {
    const SoftmaxShape other = SoftmaxShapeOf(spec, prediction);
    spec.RefuseIf(other.outer != s.outer || other.classes != s.classes, "softmax_param.axis",
                  "the softmax is over axis ", spec.param.softmax_param().axis(),
                  ", but infogain_loss_param.axis is ", param.axis(),
                  "; both are the axis of the classes, so remove softmax_param.axis");
  }
  return s;
}

// Returns the error if `source` is not an existing file.
std::optional<Error> MissingMatrix(const LayerSpec& spec) {
  const std::string& path = spec.param.infogain_loss_param().source();
  if (FileExists(path)) return std::nullopt;
  return spec.Mistake("infogain_loss_param.source", "there is no file '" + path + "'");
}

// Returns the matrix in `source`, a binary BlobProto of classes x classes values. If the file is
// missing and the net is built without its data (DataMode), returns the identity. Throws UserError.
std::vector<float> ReadInfogainMatrix(const LayerSpec& spec, int64_t classes) {
  const std::string& path = spec.param.infogain_loss_param().source();
  const auto mistake = [&](const std::string& text) {
    return spec.Mistake("infogain_loss_param.source", text);
  };
  const size_t count = classes * classes;
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
    throw mistake(StrCat("'", path, "' holds ", matrix.size(), " values; the prediction has ",
                         classes, " classes, so the matrix must be ", classes, "x", classes));
  }
  return matrix;
}

// Returns the matrix of the file, or an empty vector if the third bottom is the matrix. As in
// Caffe, a third bottom takes precedence over the file.
std::vector<float> InfogainMatrixOf(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                                    int64_t classes) {
  if (bottoms.size() < 3) {
    spec.RefuseIf(!spec.param.infogain_loss_param().has_source(), "bottom",
                  "there is no matrix; give infogain_loss_param.source or a third bottom");
    return ReadInfogainMatrix(spec, classes);
  }
  if (bottoms[2].count() == classes * classes) return {};
  const std::string k = std::to_string(classes);
  throw spec.Mistake("bottom",
                     "matrix '" + spec.param.bottom(2) + "' is " + bottoms[2].ToString() +
                         "; the prediction has " + k + " classes, so it must hold " + k + "x" + k +
                         " values",
                     2);
}

LayerShape InferInfogainLoss(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  CheckLossParam(spec);
  const SoftmaxShape s = InfogainShape(spec, bottoms[0]);
  const int axis = spec.param.infogain_loss_param().axis();
  CheckSoftmaxLabels(spec, s, bottoms, axis);
  std::vector<float> matrix = InfogainMatrixOf(spec, bottoms, s.classes);
  SoftmaxLossForm form = SoftmaxLossFormOf(spec, s, bottoms[0].canonical_axis(axis));
  form.kind = LabelKind::kWeighted;
  form.least = 1e-20;  // Caffe's
  form.matrix_bottom = bottoms.size() > 2;
  form.matrix = std::move(matrix);
  LayerShape shape = SoftmaxLossShape(spec, bottoms, std::move(form));
  if (bottoms.size() < 3) shape.missing = MissingMatrix(spec);
  shape.backward_reads_bottoms = bottoms.size() > 2;  // the third bottom is the matrix
  shape.no_gradient_bottoms.resize(bottoms.size(), true);
  return shape;
}

void AdaptSoftmax(LayerParameter* layer) {
  layer->mutable_softmax_param()->set_axis(layer->infogain_loss_param().axis());
}

DOPPIO_REGISTER_LAYER("InfogainLoss", LayerType(&InferInfogainLoss)
                                          .Bottoms(2, 3)
                                          .Tops(1, 2)
                                          .AutoTop()
                                          .DeploysAs("Softmax", &AdaptSoftmax)
                                          .Reads({"loss_param", "softmax_param"})
                                          .Ignores({"loss_param.weight_by_label_freqs"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<WeightedSoftmaxLoss>("InfogainLoss"));

}  // namespace
}  // namespace doppio
