// DetectNetTransformation (NVCaffe) augments images and makes of their objects the labels of
// DetectNet. In TEST, it only scales the images.
//   bottoms: images N x 3 x H x W (blue, green, red, 0 to 255), labels of DIGITS
//   (ReadDetectNetObjects), N x ...
//   tops: images N x 3 x image_size_y x image_size_x without their mean, labels (DetectNetGrid)
#include <algorithm>
#include <memory>
#include <vector>

#include "core/base/random.h"
#include "core/net/contract/layer.h"
#include "data/augment/detectnet_changes.h"
#include "data/augment/detectnet_grid.h"
#include "layers/source/source_layer.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

constexpr int64_t kChannels = 3;

struct DetectNetForm {
  std::shared_ptr<const DetectNetGrid> grid;
  std::shared_ptr<const DetectNetChanges> changes;
  Random random = Random(0, 0);
  bool augments = false;
  bool has_objects = true;  // false for synthetic labels, which do not describe objects
};

LayerShape InferDetectNet(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape& images = bottoms[0];
  spec.RefuseIf(images.rank() != 4 || images[1] != kChannels, "bottom",
                "images must be N x 3 x H x W, but '", spec.param.bottom(0), "' is ",
                images.ToString());
  spec.RefuseIf(bottoms[1].dim_or_1(0) != images[0], {"bottom", 1}, "'", spec.param.bottom(1),
                "' is ", bottoms[1].ToString(),
                "; there must be one row of labels for each of the ", images[0], " images");
  const DetectNetGroundTruthParameter& p = spec.param.detectnet_groundtruth_param();
  DetectNetForm form;
  form.grid = AtField(spec, "detectnet_groundtruth_param",
                      [&] { return std::make_shared<DetectNetGrid>(p); });
  const auto changes = [&](const TransformationParameter& transform) {
    return AtField(spec, "transform_param", [&] {
      return std::make_shared<DetectNetChanges>(
          spec.param.detectnet_augmentation_param(), transform,
          cv::Size(static_cast<int>(p.image_size_x()), static_cast<int>(p.image_size_y())));
    });
  };
  LayerShape shape;
  try {
    form.changes = changes(spec.param.transform_param());
  } catch (const Error& e) {  // a missing mean file
    if (e.code() != ExitCode::kFile || ReadsSource(spec)) throw;
    form.changes = changes(TransformationParameter());
    shape.missing = e;
  }
  form.random = Random(spec.options.seed, Stream("detectnet", spec.name()));
  form.augments = spec.phase() == TRAIN;
  form.has_objects = ReadsSource(spec);
  shape.tops = {{images[0], kChannels, p.image_size_y(), p.image_size_x()},
                {images[0], form.grid->channels(), form.grid->height(), form.grid->width()}};
  shape.has_backward = shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  shape.no_gradient_bottoms.assign(bottoms.size(), true);
  shape.form = std::move(form);
  return shape;
}

template <class T>
class DetectNetKernel : public FormKernel<DetectNetForm> {
 public:
  explicit DetectNetKernel(const KernelArgs& args) : FormKernel(args), at_(args.at) {}

  void Forward(const Pass& pass) override {
    const int64_t images = t_.bottoms[0].shape[0];
    const uint64_t first = pass.FirstSample(images);
    ParallelForEach(images, 1, [&](int64_t i) {
      Draws draws(form_.random, first + static_cast<uint64_t>(i));
      Change(i, &draws);
    });
  }

 private:
  void Change(int64_t i, Draws* draws) const {
    std::vector<DetectNetObject> objects = ObjectsOf(i);
    const cv::Mat image = form_.augments ? form_.changes->Augment(ImageOf(i), draws, &objects)
                                         : form_.changes->Fit(ImageOf(i), &objects);
    WriteImage(image, i);
    std::vector<float> values(t_.tops[1].count() / t_.tops[1].shape[0]);
    form_.grid->Write(objects, values.data());
    std::copy(values.begin(), values.end(), TopValues<T>(1) + i * Size(values));
  }

  static int64_t Size(const std::vector<float>& values) {
    return static_cast<int64_t>(values.size());
  }

  std::vector<DetectNetObject> ObjectsOf(int64_t i) const {
    if (!form_.has_objects) return {};
    const int64_t count = t_.bottoms[1].count() / t_.bottoms[1].shape[0];
    const T* from = BottomValues<T>(1) + i * count;
    const std::vector<float> values(from, from + count);
    try {
      return ReadDetectNetObjects(values.data(), count);
    } catch (const UserError& e) {
      throw UserError(at_, e.message());
    }
  }

  cv::Mat ImageOf(int64_t i) const {
    const Shape& shape = t_.bottoms[0].shape;
    const int height = static_cast<int>(shape[2]), width = static_cast<int>(shape[3]);
    const T* from = BottomValues<T>(0) + i * kChannels * shape[2] * shape[3];
    cv::Mat image(height, width, CV_32FC3);
    for (int y = 0; y < height; ++y) {
      cv::Vec3f* row = image.ptr<cv::Vec3f>(y);
      for (int x = 0; x < width; ++x) {
        for (int c = 0; c < kChannels; ++c)
          row[x][c] = static_cast<float>(from[(c * shape[2] + y) * shape[3] + x]);
      }
    }
    return image;
  }

  void WriteImage(const cv::Mat& image, int64_t i) const {
    const int64_t plane = int64_t{image.rows} * image.cols;
    T* to = TopValues<T>(0) + i * kChannels * plane;
    for (int y = 0; y < image.rows; ++y) {
      const cv::Vec3f* row = image.ptr<cv::Vec3f>(y);
      for (int x = 0; x < image.cols; ++x, ++to) {
        for (int c = 0; c < kChannels; ++c) to[c * plane] = static_cast<T>(row[x][c]);
      }
    }
  }

  const SourceLoc at_;
};

DOPPIO_REGISTER_LAYER(
    "DetectNetTransformation",
    LayerType(&InferDetectNet)
        .Bottoms(2)
        .Tops(2)
        .Reads({"detectnet_groundtruth_param", "detectnet_augmentation_param", "transform_param"})
        .Ignores({"transform_param.scale", "transform_param.std_value", "transform_param.mirror",
                  "transform_param.crop_size", "transform_param.force_color",
                  "transform_param.force_gray", "transform_param.flip",
                  "transform_param.quarter_turns", "transform_param.exif_rotation",
                  "transform_param.sixteen_bit_range"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<DetectNetKernel>("DetectNetTransformation"));

}  // namespace
}  // namespace doppio
