// Rows of the layers of YOLOv2: RegionLoss, RegionOutput and EvalDetection. A row adds the whole
// head of such a net.
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_blobs.h"
#include "tests/layers/common/drawn_fields.h"
#include "tests/layers/detection/drawn_detections.h"
#include "tests/layers/detection/drawn_objects.h"
#include "tests/random/layer_row.h"

namespace doppio {
namespace {

constexpr int64_t kMostYoloSide = 4;

// The predictions of a YOLOv2 net.
struct YoloHead {
  std::string predictions, map;
  int64_t anchors, classes, rows, columns;

  // Returns the widths and heights of the anchors, in cells.
  std::string Biases(Draw& draw) const {
    DrawnFields fields(&draw);
    for (int64_t i = 0; i < 2 * anchors; ++i) fields.Set("biases", draw.Real(0.25, 3));
    return fields.text();
  }
};

std::optional<YoloHead> AddYoloHead(NetDraft* draft) {
  const std::optional<DraftBlob> map = SmallMap(draft, kMostYoloSide);
  if (!map) return std::nullopt;
  const int64_t anchors = draft->draw().Of<int64_t>({1, 2, 3, 5}),
                classes = draft->draw().Of<int64_t>({1, 2, 3, 20});
  const std::optional<DraftBlob> predictions =
      AddConvolution(draft, *map, anchors * (5 + classes), 0.3);
  if (!predictions) return std::nullopt;
  return YoloHead{predictions->name, map->name, anchors, classes, map->shape[2], map->shape[3]};
}

// Returns objects as rows of class, x, y, width, height, or as those of SSD.
std::optional<DraftBlob> YoloObjects(NetDraft* draft, int64_t classes) {
  Draw& draw = draft->draw();
  if (draw.Chance(0.25)) return SsdObjects(draft, 1, classes, true);
  const int64_t rows = draw.Int(1, 3);
  const double last = static_cast<double>(classes - 1);
  const DraftBlob label = draft->Numbers({"whole", 0, last, {rows, 1}}),
                  center = draft->Numbers({"uniform", 0, 1, {rows, 2}}),
                  size = draft->Numbers({"uniform", 0.05, 0.9, {rows, 2}});
  return Joined(draft, {label.name, center.name, size.name}, 2);
}

// Returns region_loss_param, which RegionOutput reads as well.
std::string RegionFields(Draw& draw, const YoloHead& head) {
  DrawnFields fields(&draw);
  fields.Add(head.Biases(draw));
  fields.Maybe(head.anchors == 5 ? 0.5 : 1, "num", head.anchors);
  fields.Maybe(head.classes == 20 ? 0.5 : 1, "num_class", head.classes);
  fields.Maybe(0.1, "side", draw.Int(1, 13)).Maybe(0.1, "coords", 4).Maybe(0.1, "softmax", 1);
  fields.Maybe(0.4, "bias_match", draw.Int(0, 1)).Maybe(0.4, "rescore", draw.Int(0, 1));
  fields.Maybe(0.4, "object_scale", draw.Real(0.5, 2));
  fields.Maybe(0.4, "class_scale", draw.Real(0.5, 2));
  fields.Maybe(0.4, "noobject_scale", draw.Real(0.1, 1));
  fields.Maybe(0.6, "coord_scale", draw.Real(0.2, 2)).Maybe(0.4, "thresh", draw.Real(0.2, 0.7));
  // Fields of darknet's augmentation.
  fields.Maybe(0.1, "jitter", 0.3).Maybe(0.1, "absolute", 1).Maybe(0.1, "random", 0);
  return fields.In("region_loss_param");
}

bool DrawRegionLoss(NetDraft* draft) {
  const std::optional<YoloHead> head = AddYoloHead(draft);
  if (!head) return false;
  const std::optional<DraftBlob> objects = YoloObjects(draft, head->classes);
  if (!objects) return false;
  return draft->Add({"RegionLoss",
                     {head->predictions, objects->name},
                     1,
                     RegionFields(draft->draw(), *head),
                     {BlobKind::kOther}});
}

bool DrawRegionOutput(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::optional<YoloHead> head = AddYoloHead(draft);
  if (!head) return false;
  DrawnFields fields(&draw);
  // RegionOutput reads the rule alone.
  if (draw.Chance(0.2)) SetDetectionBottoms(head->classes, draw.Chance(0.5), 1, &fields);
  SetDetectionRule(draw, &fields);
  return draft->Add({"RegionOutput",
                     {head->predictions},
                     1,
                     RegionFields(draw, *head) + fields.In("detection_output_param"),
                     {BlobKind::kOther}});
}

bool DrawEvalDetection(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::optional<YoloHead> head = AddYoloHead(draft);
  if (!head) return false;
  const std::optional<DraftBlob> objects = YoloObjects(draft, head->classes);
  if (!objects) return false;
  DrawnFields fields(&draw);
  fields.Set("num_object", head->anchors).Add(head->Biases(draw));
  fields.Maybe(head->classes == 20 ? 0.5 : 1, "num_class", head->classes);
  if (head->rows == head->columns) fields.Maybe(0.4, "side", head->rows);
  fields.Maybe(0.5, "threshold", draw.Real(0.2, 0.7)).MaybeBool(0.1, "sqrt");
  fields.MaybeOneOf(0.6, "score_type", {"OBJ", "PROB", "MULTIPLY"});
  fields.Maybe(0.6, "nms", draw.Of<double>({-1, 0, 0.45})).MaybeBool(0.1, "constriant");
  if (draw.Chance(0.1)) fields.Add("save_output_param { output_directory: \"results\" }");
  std::vector<std::string> bottoms = {head->predictions, objects->name};
  if (draw.Chance(0.2)) bottoms.push_back(head->map);  // Intel's third bottom is not read
  return draft->Add(
      {"EvalDetection", bottoms, 1, fields.In("eval_detection_param"), {BlobKind::kOther}});
}

// Rows of objects may name an image of the batch, and rows of detections follow those of other
// images.
constexpr unsigned kYolo = LayerRow::kWholeBatch | LayerRow::kJumps | LayerRow::kHostOnly;

LayerRow YoloRow(bool (*draw)(NetDraft*), unsigned traits, LayerRow::Place place) {
  const std::string refused = "of YOLO9000's trees of classes, which the layer refuses";
  return {draw,
          traits,
          0.3,
          {{"region_loss_param.softmax_tree", refused}, {"region_loss_param.class_map", refused}},
          place};
}
DOPPIO_REGISTER(LayerRows, "RegionLoss",
                YoloRow(&DrawRegionLoss, kYolo | LayerRow::kKinks | LayerRow::kNoOracle,
                        LayerRow::kLoss));
DOPPIO_REGISTER(LayerRows, "RegionOutput",
                YoloRow(&DrawRegionOutput, kYolo | LayerRow::kNoBackward, LayerRow::kScore));
DOPPIO_REGISTER(LayerRows, "EvalDetection",
                {&DrawEvalDetection, kYolo | LayerRow::kNoBackward, 0.3, {}, LayerRow::kScore});

}  // namespace
}  // namespace doppio
