// The layer types of sources. Nets get sources from SourceRows, so these rows draw nothing. They
// name the fields that no source draws, except those that the type ignores (LayerType::Ignores). A
// reason that begins with "for" says where the field has its effect.
#include <initializer_list>

#include "tests/random/layer_row.h"

namespace doppio {
namespace {

using FieldReasons = std::map<std::string, std::string>;

FieldReasons Because(const std::string& reason, const std::string& message,
                     std::initializer_list<const char*> fields) {
  FieldReasons reasons;
  for (const char* field : fields) reasons.emplace(message + "." + field, reason);
  return reasons;
}

FieldReasons AllOf(std::initializer_list<FieldReasons> parts) {
  FieldReasons all;
  for (const FieldReasons& part : parts) all.insert(part.begin(), part.end());
  return all;
}

FieldReasons OldPlaces(const std::string& message) {
  return Because("of V1 layers: without effect in layers of the current format", message,
                 {"scale", "mean_file", "crop_size", "mirror"});
}

FieldReasons OfPairs() {
  return Because("for layers with a label for each pixel, refused here", "transform_param",
                 {"scale_factors"});
}
// Refused where boxes would have to follow, or where layers change nothing but crop and mirror.
FieldReasons OfPlainImages() {
  return Because("for Data and ImageData, refused here", "transform_param",
                 {"random_resize_param",
                  "random_aspect_ratio_param",
                  "pad",
                  "img_rand_resize_lower",
                  "img_rand_resize_upper",
                  "rand_resize_ratio_lower",
                  "rand_resize_ratio_upper",
                  "vertical_stretch_lower",
                  "vertical_stretch_upper",
                  "horizontal_stretch_lower",
                  "horizontal_stretch_upper",
                  "allow_upscale",
                  "interpolation_algo_down",
                  "interpolation_algo_up",
                  "rotation_param",
                  "cutout_param",
                  "shift_param",
                  "rand_augment_param",
                  "trivial_augment_param",
                  "random_erasing_param"});
}
FieldReasons OfAllImages() {
  return Because("for Data, ImageData and AnnotatedData, refused here", "transform_param",
                 {"resize_param", "noise_param", "distort_param", "expand_param"});
}
FieldReasons OfWholeImages() {
  return Because("for layers that read whole images, refused here", "transform_param",
                 {"flip", "quarter_turns"});
}
FieldReasons OfTraining(const std::string& message) {
  return Because("refused in phase TEST and for labels that are no classes", message, {"balance"});
}
FieldReasons OfIdx() { return Because("for IDX, which has no boxes", "data_param", {"labels"}); }

FieldReasons NotOfImageLists() {
  return Because("for ImageSegData and DenseImageData", "image_data_param",
                 {"label_type", "label_divide_factor"});
}
FieldReasons NotOfPairs(const std::string& message) {
  return Because("for ImageData: without effect here", message,
                 {"min_height", "min_width", "short_side", "dataset_share_per_node",
                  "scaled_decode", "balance"});
}

bool DrawNoSource(NetDraft*) { return false; }

LayerRow SourceLayer(const FieldReasons& left_out, unsigned traits = 0) {
  return {&DrawNoSource, traits, 1, left_out, LayerRow::kSource};
}

DOPPIO_REGISTER(LayerRows, "Data",
                SourceLayer(AllOf({OldPlaces("data_param"), OfPairs(), OfTraining("data_param")})));
DOPPIO_REGISTER(LayerRows, "ImageData",
                SourceLayer(AllOf({OldPlaces("image_data_param"), NotOfImageLists(), OfPairs(),
                                   OfTraining("image_data_param")})));
DOPPIO_REGISTER(
    LayerRows, "WindowData",
    SourceLayer(AllOf({Because("of V1 layers: without effect in layers of the current format",
                               "window_data_param", {"mean_file", "crop_size", "mirror"}),
                       Because("windows are squares of crop_size", "transform_param",
                               {"crop_h", "crop_w"}),
                       Because("the window file says the number of channels", "transform_param",
                               {"force_color", "force_gray"}),
                       OfPairs(), OfPlainImages(), OfAllImages(), OfWholeImages()})));
DOPPIO_REGISTER(LayerRows, "VideoData",
                SourceLayer(AllOf({OldPlaces("data_param"), OfPairs(), OfTraining("data_param"),
                                   Because("for databases", "data_param",
                                           {"source", "backend", "force_encoded_color", "labels",
                                            "seed", "size", "part", "shapes_size"})}),
                            LayerRow::kOutside));
DOPPIO_REGISTER(LayerRows, "AnnotatedData",
                SourceLayer(AllOf({OldPlaces("data_param"), OfIdx(), OfPairs(), OfPlainImages(),
                                   OfTraining("data_param"),
                                   Because("without effect: classes have no names here",
                                           "annotated_data_param", {"label_map_file"})})));
DOPPIO_REGISTER(LayerRows, "BoxData",
                SourceLayer(AllOf({OldPlaces("data_param"), OfIdx(), OfPairs(), OfPlainImages(),
                                   OfTraining("data_param"),
                                   Because("without effect: classes have no names here",
                                           "annotated_data_param", {"label_map_file"})})));
DOPPIO_REGISTER(LayerRows, "ImageSegData",
                SourceLayer(AllOf({OldPlaces("image_data_param"), NotOfPairs("image_data_param"),
                                   Because("for DenseImageData, refused here", "image_data_param",
                                           {"label_divide_factor"}),
                                   Because("refused here", "transform_param", {"mean_file"}),
                                   OfPlainImages(), OfAllImages()})));
DOPPIO_REGISTER(
    LayerRows, "DenseImageData",
    SourceLayer(AllOf({OldPlaces("dense_image_data_param"), NotOfPairs("dense_image_data_param"),
                       Because("only PIXEL, the default", "dense_image_data_param", {"label_type"}),
                       Because("refused here", "transform_param", {"mean_file"}), OfPlainImages(),
                       OfAllImages()})));
DOPPIO_REGISTER(LayerRows, "ImageLabelmapData",
                SourceLayer(AllOf({OldPlaces("image_data_param"), NotOfPairs("image_data_param"),
                                   Because("for ImageSegData and DenseImageData, refused here",
                                           "image_data_param",
                                           {"label_type", "label_divide_factor"}),
                                   Because("refused here", "transform_param", {"mean_file"}),
                                   OfPlainImages(), OfAllImages()})));
DOPPIO_REGISTER(LayerRows, "HDF5Data", SourceLayer({}));
DOPPIO_REGISTER(
    LayerRows, "RoiData",
    SourceLayer(
        AllOf({OldPlaces("data_param"), OfIdx(), OfPairs(), OfPlainImages(), OfAllImages(),
               OfWholeImages(), OfTraining("data_param"),
               Because("the layer reads image by image, in its own order", "data_param",
                       {"rand_skip", "prefetch", "shuffle", "threads", "parser_threads", "cache",
                        "precache", "side", "force_encoded_color", "transform_param"}),
               Because("not read by the layer", "transform_param",
                       {"emit_constraint", "ignore_label", "mirror", "crop_size", "mean_file",
                        "force_gray", "crop_h", "crop_w", "flow", "bgr2rgb", "use_gpu_transform",
                        "random_seed", "forward_packing", "display", "num_labels"}),
               FieldReasons{{"python_param", "of the layer in Python that RoiData stands for"}}})));
DOPPIO_REGISTER(LayerRows, "DummyData",
                SourceLayer(Because("its effect depends on the number of rows, which replicas "
                                    "and test batches change",
                                    "dummy_data_param.data_filler", {"sparse", "groups"})));
DOPPIO_REGISTER(LayerRows, "Input", SourceLayer({}, LayerRow::kOutside));
DOPPIO_REGISTER(LayerRows, "MemoryData", SourceLayer({}, LayerRow::kOutside));

}  // namespace
}  // namespace doppio
