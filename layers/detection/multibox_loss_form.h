// MultiBoxLoss, read from a file: its rules, and what they refuse.
#ifndef DOPPIO_LAYERS_DETECTION_MULTIBOX_LOSS_FORM_H_
#define DOPPIO_LAYERS_DETECTION_MULTIBOX_LOSS_FORM_H_

#include <string>
#include <vector>

#include "layers/detection/detection_bottoms.h"
#include "layers/detection/multibox_terms.h"

namespace doppio {

struct MultiBoxLossForm {
  DetectionExtents extents;
  int64_t label_rows = 0;
  int background = 0;
  bool difficult_ones = true;
  bool agnostic = false;     // every object is the one class that is not the background
  bool match_priors = true;  // else what the locations say
  bool only_inside = false;  // sides of the matched box outside of the image learn nothing
  bool place_counts = true, classes_count = true;
  double place_weight = 1;
  BoxCode code;
  MatchRule match;
  MiningRule mining;
  bool mine_by_priors = false;  // which boxes overlap in mining's suppression
  PlaceTerm place;
  ClassTerm score;

  bool mines() const { return mining.type != MultiBoxLossParameter::NONE; }
};

inline MultiBoxLossForm ReadMultiBoxLoss(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const MultiBoxLossParameter& p = spec.param.multibox_loss_param();
  const std::string path = "multibox_loss_param";
  const auto mistake = [&](const std::string& field, const std::string& text) {
    return spec.Mistake(path + "." + field, text);
  };
  MultiBoxLossForm form;
  form.extents = ReadDetectionExtents(spec, path, p, bottoms);
  CheckRows(spec, bottoms, 3, "labels", 8);
  form.label_rows = bottoms[3].count() / 8;
  if (p.background_label_id() >= p.num_classes()) {
    throw mistake("background_label_id",
                  "background_label_id is " + std::to_string(p.background_label_id()) +
                      "; classes are 0.." + std::to_string(p.num_classes() - 1));
  }
  form.background = static_cast<int>(p.background_label_id());
  form.difficult_ones = p.use_difficult_gt();
  form.agnostic = p.map_object_to_agnostic();
  if (form.agnostic && (p.num_classes() != 2 || form.background != 0)) {
    throw mistake("map_object_to_agnostic",
                  "it needs num_classes 2 and background_label_id 0: objects become class 1");
  }
  form.match_priors = p.use_prior_for_matching();
  form.only_inside = p.bp_inside();
  const auto counts = [&](int i) {
    return spec.param.propagate_down_size() <= i || spec.param.propagate_down(i);
  };
  form.place_counts = counts(0);
  form.classes_count = counts(1);
  form.place_weight = static_cast<double>(p.loc_weight());
  form.code = {p.code_type(), p.encode_variance_in_target()};
  form.match = {p.match_type() == MultiBoxLossParameter::PER_PREDICTION,
                static_cast<double>(p.overlap_threshold()), p.ignore_cross_boundary_bbox()};
  form.mining.type = p.mining_type();
  if (p.has_do_neg_mining() && p.do_neg_mining() != form.mines()) {
    throw mistake("do_neg_mining", "it contradicts mining_type, which has taken its place");
  }
  if (form.mines() && form.extents.location_classes > 1) {
    throw mistake(
        "share_location",
        "mining needs share_location: true, as in SSD's Caffe; or give mining_type: NONE");
  }
  form.mining.neg_pos_ratio = static_cast<double>(p.neg_pos_ratio());
  form.mining.neg_overlap = static_cast<double>(p.neg_overlap());
  form.mining.sample_size = p.sample_size();
  if (p.neg_pos_ratio() < 0) throw mistake("neg_pos_ratio", "neg_pos_ratio is negative");
  if (p.sample_size() < 1) throw mistake("sample_size", "sample_size is at least 1");
  if (p.has_nms_param()) {
    form.mining.nms_threshold = static_cast<double>(p.nms_param().nms_threshold());
    if (p.nms_param().has_top_k()) form.mining.nms_top_k = p.nms_param().top_k();
    if (p.nms_param().eta() != 1)
      throw mistake("nms_param.eta", "eta is for DetectionOutput; mining takes none");
  }
  form.mine_by_priors = p.use_prior_for_nms();
  form.place.smooth = p.loc_loss_type() == MultiBoxLossParameter::SMOOTH_L1;
  form.score = {p.conf_loss_type() == MultiBoxLossParameter::SOFTMAX, form.extents.classes};
  return form;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_MULTIBOX_LOSS_FORM_H_
