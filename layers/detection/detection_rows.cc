#include "layers/detection/detection_rows.h"

namespace doppio {

DetectionRule ReadDetectionRule(const LayerSpec& spec, double threshold) {
  const DetectionOutputParameter& p = spec.param.detection_output_param();
  const std::string path = "detection_output_param.";
  DetectionRule rule;
  rule.threshold =
      p.has_confidence_threshold() ? static_cast<double>(p.confidence_threshold()) : threshold;
  rule.overlap = static_cast<double>(p.nms_param().nms_threshold());
  rule.eta = static_cast<double>(p.nms_param().eta());
  spec.RefuseIf(rule.overlap < 0, path + "nms_param.nms_threshold",
                "nms_threshold must not be negative");
  spec.RefuseIf(!(rule.eta > 0 && rule.eta <= 1), path + "nms_param.eta",
                "eta must be above 0 and at most 1");
  if (p.nms_param().has_top_k()) rule.top_k = p.nms_param().top_k();
  rule.keep_top_k = p.keep_top_k();
  spec.RefuseIf(rule.top_k == 0 || rule.keep_top_k == 0,
                path + (rule.top_k == 0 ? "nms_param.top_k" : "keep_top_k"),
                "this keeps no detections; -1 keeps all");
  return rule;
}

void KeepBest(int64_t most, std::vector<Detection>* found) {
  if (most < 0 || static_cast<int64_t>(found->size()) <= most) return;
  const auto better = [](const Detection& a, const Detection& b) { return a.score > b.score; };
  std::stable_sort(found->begin(), found->end(), better);
  found->resize(static_cast<size_t>(most));
  const auto before = [](const Detection& a, const Detection& b) { return a.label < b.label; };
  std::stable_sort(found->begin(), found->end(), before);
}

}  // namespace doppio
