// InfogainLoss: cross entropy of the softmax of a prediction, in which a matrix says how much of
// each label's loss each class has. The matrix is a file or the third bottom; a second top shows
// the softmax.
#include "layers/loss/infogain_loss_spec.h"
#include "layers/loss/softmax_labels.h"

namespace doppio {
namespace {

void CheckLossParam(const LayerSpec& spec) {
  const LossParameter& param = spec.param.loss_param();
  if (param.has_normalize()) {
    throw spec.Mistake("loss_param.normalize",
                       "InfogainLoss does not take normalize; use normalization: VALID for true, "
                       "BATCH_SIZE for false");
  }
  if (param.label_smoothing() != 0) {
    throw spec.Mistake("loss_param.label_smoothing",
                       "label_smoothing is for SoftmaxWithLoss; here the matrix can say the same");
  }
  if (param.class_weighting_size() > 0) {
    throw spec.Mistake("loss_param.class_weighting",
                       "class_weighting is for SoftmaxWithLoss; here the matrix can say the same");
  }
}

// Of a third bottom and a file the bottom counts, as in Caffe.
void CheckMatrix(const LayerSpec& spec, const std::vector<Shape>& bottoms, int64_t classes) {
  if (bottoms.size() < 3) {
    if (!spec.param.infogain_loss_param().has_source()) {
      throw spec.Mistake("bottom",
                         "there is no matrix; give infogain_loss_param.source or a third bottom");
    }
    ReadInfogainMatrix(spec, classes);
    return;
  }
  if (bottoms[2].count() == classes * classes) return;
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
  CheckSoftmaxLabels(spec, s, bottoms, spec.param.infogain_loss_param().axis());
  CheckMatrix(spec, bottoms, s.classes);
  LossNormalizer(spec, LossParameter::VALID, s.outer, s.inner);
  LayerShape shape = SoftmaxLossShape(spec, bottoms);
  if (bottoms.size() < 3) shape.missing = MissingMatrix(spec);
  shape.backward_reads_bottoms = bottoms.size() > 2;  // the matrix
  shape.no_gradient_bottoms.resize(bottoms.size(), true);
  return shape;
}

std::unique_ptr<Kernel> MakeInfogainLoss(const KernelArgs& args) {
  return MakeWeightedSoftmaxLoss(args, InfogainForm(*args.spec, args.bottoms[0].shape));
}

DOPPIO_REGISTER_LAYER("InfogainLoss", LayerType{2, 3, 1, 2, false, true, &InferInfogainLoss});
DOPPIO_REGISTER_KERNEL({"InfogainLoss", DeviceKind::kCpu, "reference", 0, &MakeInfogainLoss,
                        nullptr});

}  // namespace
}  // namespace doppio
