// Tests that the random changes of the sources of a group move pixels alike.
#include <algorithm>
#include <set>

#include "tests/data/source_groups.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kBatch = "batch_size: 5 shuffle: true";

int Pixel(int i, int y, int x) { return (i * 37 + y * 16 + x) % 256; }

// Returns a layer with seven images of 8 x 8 pixels.
std::string Fine(const std::string& name, const std::string& transform) {
  return ImagesLayer(name, 7, 8, Pixel, kBatch, transform);
}

// Returns a layer with every second row and column of these images.
std::string Coarse(const std::string& name, const std::string& transform) {
  return ImagesLayer(
      name, 7, 4, [](int i, int y, int x) { return Pixel(i, 2 * y, 2 * x); }, kBatch, transform);
}

TEST(GroupMoves, MoveEqualImagesAlike) {
  for (const char* transform :
       {"mirror: true crop_size: 5", "rotation_param { max_degrees: 40 }",
        "shift_param { width: 0.4 height: 0.3 } mirror: true",
        "random_aspect_ratio_param { min_area_ratio: 0.2 aspect_ratio_change: 2 "
        "resize_param { height: 6 width: 6 } }",
        "random_resize_param { min_size: 5 max_size: 12 } crop_size: 4 mirror: true",
        "vertical_stretch_lower: 0.6 vertical_stretch_upper: 1 crop_size: 4",
        "expand_param { prob: 0.5 max_expand_ratio: 3 } resize_param { height: 8 width: 8 }",
        "resize_param { prob: 0.5 height: 16 width: 16 } crop_size: 6",
        "rand_augment_param { count: 3 magnitude_std: 2 }", "trivial_augment_param { }"}) {
    const std::string layers = Fine("a", transform) + Fine("b", transform);
    EXPECT_THAT(WarningsAbout(layers), IsEmpty()) << transform;
    SourcesNet net(layers);
    ExpectPairs(&net, "a", "b", 5);
  }
}

// Each pixel of the coarse images is four pixels of the fine ones.
TEST(GroupMoves, CropAndMirrorAnotherResolutionAlike) {
  const std::string layers =
      ImagesLayer(
          "fine", 7, 8, [](int i, int y, int x) { return Pixel(i, y / 2, x / 2); }, kBatch,
          "mirror: true crop_size: 4") +
      ImagesLayer("coarse", 7, 4, Pixel, kBatch, "mirror: true crop_size: 2");
  EXPECT_THAT(WarningsAbout(layers), IsEmpty());
  SourcesNet net(layers);
  std::set<std::vector<double>> seen;
  for (int pass = 0; pass < 30; ++pass) {
    net->Forward();
    const std::vector<double> fine = net.Values("fine"), coarse = net.Values("coarse");
    for (size_t i = 0; i < 5; ++i) {
      for (size_t y = 0; y < 4; ++y) {
        for (size_t x = 0; x < 4; ++x)
          ASSERT_EQ(fine[i * 16 + y * 4 + x], coarse[i * 4 + y / 2 * 2 + x / 2]);
      }
    }
    seen.insert(coarse);
  }
  EXPECT_GT(seen.size(), 20u);
}

TEST(GroupMoves, KeepColourAndNoiseApart) {
  const std::string noise = "noise_param { saltpepper: true saltpepper_param { fraction: 0.3 } }";
  SourcesNet net(Fine("a", noise) + Fine("b", noise));
  net->Forward();
  EXPECT_NE(net.Values("a"), net.Values("b"));
  // Noise in one source does not change how both are moved.
  const std::string moves = "rotation_param { max_degrees: 40 } crop_size: 5 mirror: true ";
  SourcesNet noisy(Fine("a", moves + "cutout_param { size: 2 }") + Fine("b", moves)),
      plain(Fine("a", moves) + Fine("b", moves));
  EXPECT_EQ(noisy.Next("b", 4), plain.Next("b", 4));
}

TEST(GroupMoves, CutTheSameWindowsFromAnnotatedImages) {
  const auto layer = [](const std::string& name, const std::string& more) {
    return "layer { name: '" + name + "' type: 'AnnotatedData' top: '" + name + "' top: '" + name +
           "_boxes' data_param { backend: SHAPES size: 6 batch_size: 3 } transform_param { " +
           more +
           " mirror: true expand_param { prob: 0.5 max_expand_ratio: 2 } resize_param { height: 64 "
           "width: 64 } } annotated_data_param { batch_sampler { sampler { min_scale: 0.3 "
           "min_aspect_ratio: 0.5 max_aspect_ratio: 2 } max_sample: 1 max_trials: 50 } } }\n";
  };
  const std::string layers =
      layer("a",
            "distort_param { brightness_prob: 0.5 brightness_delta: 30 hue_prob: 1 "
            "hue_delta: 9 }") +
      layer("b", "");
  EXPECT_THAT(WarningsAbout(layers), IsEmpty());
  SourcesNet net(layers);
  for (int pass = 0; pass < 5; ++pass) {
    net->Forward();
    EXPECT_EQ(net.Values("a_boxes"), net.Values("b_boxes"));
    EXPECT_NE(net.Values("a"), net.Values("b"));
  }
}

TEST(GroupMoves, ScalePairsOfImagesByTheSameFactors) {
  std::string list;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "p" + std::to_string(i) + ".png";
    WriteFile(ScratchPath(name), Png(2, 2, 1, {i, i + 10, i + 20, i + 30}));
    list += name + " " + name + "\n";
  }
  WriteFile(ScratchPath("pairs.txt"), list);
  const auto layer = [&](const std::string& name) {
    return "layer { name: '" + name + "' type: 'ImageSegData' top: '" + name + "' top: '" + name +
           "_labels' image_data_param { is_color: false batch_size: 3 shuffle: true root_folder: "
           "'" +
           ScratchPath("") + "' source: '" + ScratchPath("pairs.txt") +
           "' } transform_param { scale_factors: [0.5, 1, 2] crop_size: 2 mirror: true } }\n";
  };
  EXPECT_THAT(WarningsAbout(layer("a") + layer("b")), IsEmpty());
  SourcesNet net(layer("a") + layer("b"));
  ExpectPairs(&net, "a", "b", 5);
  ExpectPairs(&net, "a_labels", "b_labels", 5);
  EXPECT_THAT(WarningsAbout(layer("a") + NumbersLayer("n", 4, "batch_size: 3")), IsEmpty());
}

// Returns the warnings about an image with the transform `a` and a label image with `b`.
std::vector<std::string> Warned(const std::string& a, const std::string& b, bool coarse = false) {
  return WarningsAbout(Fine("image", a) + (coarse ? Coarse("truth", b) : Fine("truth", b)));
}

TEST(GroupMoves, NameTheFieldThatASourceDoesNotFollow) {
  EXPECT_THAT(Warned("mirror: true", ""),
              ElementsAre(HasSubstr(
                  "transform_param: mirror of layer 'image' moves pixels at random, but layer "
                  "'truth', which belongs to the same samples, does not have it")));
  EXPECT_THAT(Warned("", "rotation_param { max_degrees: 9 }"),
              ElementsAre(HasSubstr("rotation_param of layer 'truth' moves pixels at random, but "
                                    "layer 'image'")));
  EXPECT_THAT(Warned("shift_param { width: 0.1 }", "shift_param { width: 0.2 }"),
              ElementsAre(HasSubstr("has it with other values")));
  EXPECT_THAT(Warned("crop_size: 4", "crop_size: 3"),
              ElementsAre(HasSubstr("crops 8x8 to 3x3 pixels instead of 8x8 to 4x4")));
  EXPECT_THAT(Warned("crop_size: 4", "crop_size: 4", true),
              ElementsAre(HasSubstr("crops 4x4 to 4x4 pixels instead of 8x8 to 4x4")));
  EXPECT_THAT(Warned("crop_size: 5", "crop_size: 2", true),
              ElementsAre(HasSubstr("transform_param: crop_size")));
  const std::string resized = "random_resize_param { min_size: 8 max_size: 9 } crop_size: 4";
  EXPECT_THAT(Warned(resized, resized, true),
              testing::Contains(HasSubstr("has images of 4x4 instead of 8x8 pixels")));
  EXPECT_THAT(Warned("rotation_param { max_degrees: 9 } mirror: true",
                     "rotation_param { max_degrees: 9 } mirror: true", true),
              IsEmpty());
  EXPECT_THAT(Warned("crop_size: 6 mirror: true", "crop_size: 3 mirror: true", true), IsEmpty());
  EXPECT_THAT(Warned("noise_param { prob: 1 }", ""), IsEmpty());
}

TEST(GroupMoves, LeaveNumbersAlone) {
  // A label of one number has no pixels that could follow.
  EXPECT_THAT(WarningsAbout(Fine("image", "mirror: true crop_size: 4") +
                            NumbersLayer("number", 7, "batch_size: 5")),
              IsEmpty());
  // In phase TEST, crops are central.
  EXPECT_THAT(WarningsAbout(Fine("image", "crop_size: 4") + Fine("truth", ""), TEST), IsEmpty());
}

}  // namespace
}  // namespace doppio
