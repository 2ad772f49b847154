// Rows of Parameter, HDF5Output and DetectNetTransformation. tests/data/source_rows.cc has those of
// the sources.
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_blobs.h"
#include "tests/layers/common/drawn_fields.h"
#include "tests/layers/detection/drawn_objects.h"
#include "tests/random/layer_row.h"

namespace doppio {
namespace {

std::string ParameterFields(const std::vector<int64_t>& dims) {
  std::string text = "parameter_param { shape {";
  for (const int64_t dim : dims) text += " dim: " + std::to_string(dim);
  return text + " } }";
}

// Adds a parameter, usually one that a Bias adds to each sample of a blob.
bool DrawParameter(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::optional<DraftBlob> blob = draft->Values(2);
  if (!blob || draw.Chance(0.15)) {
    std::vector<int64_t> dims;
    for (int64_t axes = draw.Int(0, 4); axes > 0; --axes) dims.push_back(draw.Extent(5));
    return AddWithOneTop(draft, "Parameter", {}, ParameterFields(dims), BlobKind::kOther)
        .has_value();
  }
  const std::vector<int64_t> dims(blob->shape.dims().begin() + 1, blob->shape.dims().end());
  const std::optional<DraftBlob> offset =
      AddWithOneTop(draft, "Parameter", {}, ParameterFields(dims), BlobKind::kOther);
  return offset && AddWithOneTop(draft, "Bias", {blob->name, offset->name});
}

// Writes in one phase, because nets of two phases must not write the same file.
bool DrawHdf5Output(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::optional<DraftBlob> values = draft->Values(1, 4);
  if (!values) return false;
  const std::optional<DraftBlob> others =
      draw.Chance(0.5) ? draft->Values(1, 4) : draft->Labels(draw.Int(2, 5));
  if (!others) return false;
  DrawnFields fields(&draw);
  fields.SetText("file_name", "data/output" + std::to_string(draw.Int(0, 9999)) + ".h5");
  const std::string phase = draw.Of<std::string>({"TRAIN", "TEST", "TEST"});
  return draft->Add({"HDF5Output",
                     {values->name, others->name},
                     0,
                     fields.In("hdf5_output_param") + " include { phase: " + phase + " }",
                     {}});
}

// Adds labels as DIGITS stores them: a row of 16 numbers, of which the first two are the number of
// objects and 16; then rows of x, y, width, height, angle, class and ten further numbers.
std::optional<DraftBlob> DigitsObjects(NetDraft* draft, int64_t side, int64_t classes) {
  const int64_t objects = draft->draw().Int(1, 2);
  const double pixels = static_cast<double>(side);
  const auto numbers = [&](const std::string& kind, double low, double high, int64_t count) {
    return draft->Numbers({kind, low, high, {count}}).name;
  };
  const std::string zeros = numbers("whole", 0, 0, 10);
  std::vector<std::string> parts = {numbers("whole", 0, static_cast<double>(objects), 1),
                                    numbers("whole", 16, 16, 1), zeros, numbers("whole", 0, 0, 4)};
  for (int64_t i = 0; i < objects; ++i) {
    parts.push_back(numbers("whole", 0, pixels - 1, 2));
    parts.push_back(numbers("uniform", 1, pixels, 2));
    parts.push_back(numbers("whole", 0, 90, 1));
    parts.push_back(numbers("whole", 0, static_cast<double>(classes), 1));
    parts.push_back(zeros);
  }
  return Joined(draft, parts, 1);
}

// Returns detectnet_groundtruth_param.
std::string GridFields(Draw& draw, int64_t classes) {
  DrawnFields fields(&draw);
  const int64_t stride = draw.Int(1, 4);
  fields.Maybe(stride == 4 ? 0.5 : 1, "stride", stride);
  fields.Set("image_size_x", draw.Int(4, 14)).Set("image_size_y", draw.Int(4, 14));
  fields.Maybe(0.5, "scale_cvg", draw.Real(0.2, 1)).MaybeBool(0.4, "obj_norm");
  fields.MaybeOneOf(0.5, "gridbox_type", {"GRIDBOX_MAX", "GRIDBOX_MIN"});
  fields.Maybe(0.4, "max_cvg_len", draw.Int(1, 12)).Maybe(0.4, "min_cvg_len", draw.Int(1, 12));
  fields.Maybe(0.1, "coverage_type", "RECTANGULAR").MaybeBool(0.4, "crop_bboxes");
  for (int64_t i = 1; i <= classes && draw.Chance(0.7); ++i) {
    DrawnFields mapping(&draw);
    mapping.Set("src", i).Set("dst", draw.Int(0, classes - 1));
    fields.Add(mapping.In("object_class"));
  }
  return fields.In("detectnet_groundtruth_param");
}

// Returns detectnet_augmentation_param.
std::string DetectNetChangesFields(Draw& draw) {
  DrawnFields fields(&draw);
  for (const char* name : {"crop_prob", "scale_prob", "flip_prob", "rotation_prob",
                           "hue_rotation_prob", "desaturation_prob"})
    fields.Maybe(0.4, name, draw.Of<double>({0, 0.5, 1}));
  fields.Maybe(0.4, "shift_x", draw.Int(0, 5)).Maybe(0.4, "shift_y", draw.Int(0, 5));
  fields.Maybe(0.4, "scale_min", draw.Real(0.5, 0.9));
  fields.Maybe(0.4, "scale_max", draw.Real(0.9, 1.5));
  fields.Maybe(0.4, "max_rotate_degree", draw.Of<double>({0, 5, 90}));
  fields.Maybe(0.4, "hue_rotation", draw.Of<double>({0, 20, 200}));
  fields.Maybe(0.4, "desaturation_max", draw.Real(0, 1));
  // Fields without effect.
  if (draw.Chance(0.1)) fields.Add("resize_param { height: 8 width: 8 }");
  if (draw.Chance(0.1)) fields.Add("noise_param { prob: 0.5 inverse: true }");
  if (draw.Chance(0.1)) fields.Add("emit_constraint { emit_type: CENTER }");
  if (draw.Chance(0.1)) fields.Add("distort_param { brightness_prob: 0.5 }");
  if (draw.Chance(0.1)) fields.Add("expand_param { prob: 0.5 max_expand_ratio: 2 }");
  return fields.In("detectnet_augmentation_param");
}

// Returns transform_param, of which the layer reads the mean.
std::string MeanFields(Draw& draw) {
  DrawnFields fields(&draw);
  const int64_t means = draw.Of<int64_t>({0, 1, 3});
  for (int64_t i = 0; i < means; ++i) fields.Set("mean_value", draw.Int(0, 255));
  if (means == 0 && draw.Chance(0.5)) {
    const std::string size = std::to_string(draw.Int(3, 9)) + "x" + std::to_string(8);
    fields.SetText("mean_file", "data/mean_1x3x" + size + "_2_1.binaryproto");
  }
  return fields.In("transform_param");
}

// Adds images of bytes with objects and, behind the layer, a Power that makes values of the images
// about 1.
bool DrawDetectNetTransformation(NetDraft* draft) {
  Draw& draw = draft->draw();
  const int64_t height = draw.Int(4, 14), width = draw.Int(4, 14), classes = draw.Int(1, 3);
  const DraftBlob images = draft->Numbers({"uniform", 0, 255, {3, height, width}});
  const std::optional<DraftBlob> objects = DigitsObjects(draft, std::min(height, width), classes);
  if (!objects) return false;
  std::string fields = GridFields(draw, classes);
  fields += DetectNetChangesFields(draw);
  fields += MeanFields(draw);
  if (!draft->Add({"DetectNetTransformation",
                   {images.name, objects->name},
                   2,
                   fields,
                   {BlobKind::kOther, BlobKind::kOther}}))
    return false;
  return AddWithOneTop(draft, "Power", {draft->tops().front().name},
                       "power_param { scale: 0.0078125 }")
      .has_value();
}

LayerRow DetectNetRow() {
  LayerRow row = {
      &DrawDetectNetTransformation,
      LayerRow::kRandom | LayerRow::kJumps | LayerRow::kNoBackward | LayerRow::kHostOnly, 0.3};
  for (const char* name : {"resize_param",
                           "noise_param",
                           "emit_constraint",
                           "crop_h",
                           "crop_w",
                           "distort_param",
                           "expand_param",
                           "random_resize_param",
                           "random_aspect_ratio_param",
                           "flow",
                           "bgr2rgb",
                           "pad",
                           "scale_factors",
                           "use_gpu_transform",
                           "random_seed",
                           "img_rand_resize_lower",
                           "img_rand_resize_upper",
                           "rand_resize_ratio_lower",
                           "rand_resize_ratio_upper",
                           "vertical_stretch_lower",
                           "vertical_stretch_upper",
                           "horizontal_stretch_lower",
                           "horizontal_stretch_upper",
                           "interpolation_algo_down",
                           "interpolation_algo_up",
                           "allow_upscale",
                           "forward_packing",
                           "display",
                           "num_labels",
                           "rotation_param",
                           "cutout_param",
                           "shift_param",
                           "rand_augment_param",
                           "trivial_augment_param",
                           "random_erasing_param",
                           "ignore_label"})
    row.left_out[std::string("transform_param.") + name] = "the layer reads the mean alone";
  return row;
}

DOPPIO_REGISTER(LayerRows, "Parameter", {&DrawParameter, 0, 0.5});
DOPPIO_REGISTER(LayerRows, "HDF5Output",
                {&DrawHdf5Output,
                 LayerRow::kOutside | LayerRow::kNoBackward | LayerRow::kHostOnly,
                 1,
                 {},
                 LayerRow::kScore});
DOPPIO_REGISTER(LayerRows, "DetectNetTransformation", DetectNetRow());

}  // namespace
}  // namespace doppio
