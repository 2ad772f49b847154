// ImageSegData (DeepLab, PSPNet), DenseImageData (SegNet) and ImageLabelmapData (HED): images, and
// for each pixel a label from a second image, which is cropped and mirrored with the first.
// ImageSegData also takes one label for all pixels, or none.
#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/net/contract/layer.h"
#include "data/augment/declared_shape.h"
#include "data/augment/random_moves.h"
#include "data/pipeline/pipeline.h"
#include "data/source/open_source.h"
#include "layers/source/images_kernels.h"
#include "layers/source/opened_source.h"
#include "layers/source/source_layer.h"

namespace doppio {
namespace {

struct PairsForm : SourceForm<Pipeline> {
  int divisor = 1;     // of the labels' rows and columns
  float scale = 1;     // of transform_param; the pipeline multiplies the labels by it, too
  bool edges = false;  // labels are 0 or 1: gray values from 128 on are edges
};

bool IsDense(const LayerSpec& spec) { return spec.type() == "DenseImageData"; }
bool HasEdges(const LayerSpec& spec) { return spec.type() == "ImageLabelmapData"; }

std::string PairsField(const LayerSpec& spec) {
  return IsDense(spec) ? "dense_image_data_param" : "image_data_param";
}

const ImageDataParameter& PairsParam(const LayerSpec& spec) {
  return IsDense(spec) ? spec.param.dense_image_data_param() : spec.param.image_data_param();
}

TransformationParameter PairsTransform(const LayerSpec& spec) {
  TransformationParameter transform = PairsParam(spec).transform_param();
  transform.MergeFrom(spec.param.transform_param());
  if (HasEdges(spec) && !transform.has_ignore_label()) transform.set_ignore_label(0);
  return transform;
}

bool Crops(const TransformationParameter& transform) {
  return transform.crop_size() > 0 || transform.crop_h() > 0;
}

// Returns true if samples may have several sizes.
bool AnySize(const LayerSpec& spec) {
  const ImageDataParameter& param = PairsParam(spec);
  const TransformationParameter transform = PairsTransform(spec);
  const bool one_size = param.new_height() > 0 && transform.scale_factors_size() == 0;
  return param.batch_size() == 1 && !one_size && !Crops(transform);
}

// Throws UserError if the scale_factors cannot be applied.
void CheckScaleFactors(const LayerSpec& spec, const TransformationParameter& transform) {
  constexpr float kMost = 100;
  for (const float factor : transform.scale_factors()) {
    if (factor > 0 && factor <= kMost) continue;
    throw UserError({}, "transform_param: scale_factors must be above 0 and at most 100, got ",
                    factor);
  }
  if (transform.scale_factors_size() == 0 || Crops(transform) || AnySize(spec)) return;
  throw UserError({},
                  "transform_param: with scale_factors, samples have different sizes; set "
                  "crop_size, or crop_h and crop_w, or a batch_size of 1");
}

// Returns the transformation of records with a plane of labels, from which no mean is subtracted.
// Throws UserError.
TransformationParameter TransformOfPairs(const LayerSpec& spec) {
  TransformationParameter transform = PairsTransform(spec);
  const int channels = PairsParam(spec).is_color() ? 3 : 1, means = transform.mean_value_size();
  RefuseIf(transform.has_mean_file(), "transform_param: ", spec.type(),
           " takes mean_value, not mean_file");
  RefuseIf(transform.scale() == 0, "transform_param: scale must not be 0");
  CheckScaleFactors(spec, transform);
  transform.clear_scale_factors();  // the source applies them
  if (means > 1 && means != channels) {
    throw UserError({}, "transform_param has ", means, " mean_value, but the image has ", channels,
                    channels == 1 ? " channel" : " channels", "; give one, or one per channel");
  }
  ChannelScale(transform).CheckChannels(channels);
  // The plane of labels is not divided.
  if (transform.std_value_size() == 1) {
    while (transform.std_value_size() < channels) transform.add_std_value(transform.std_value(0));
  }
  if (transform.std_value_size() > 0) transform.add_std_value(1);
  if (means == 0) return transform;
  const float first = transform.mean_value(0);
  while (transform.mean_value_size() < channels) transform.add_mean_value(first);
  transform.add_mean_value(0);
  return transform;
}

std::unique_ptr<Pipeline> OpenPairs(const LayerSpec& spec) {
  const ImageDataParameter& param = PairsParam(spec);
  PipelineOptions options;
  options.batch = static_cast<int>(param.batch_size());
  options.shuffle = param.shuffle();
  options.rand_skip = param.rand_skip();
  options.threads = DataThreadsOf(spec, PairsField(spec), param);
  options.any_size = AnySize(spec);
  options.bad_records = spec.options.bad_records;
  options.seed = spec.options.seed;
  options.stream = Stream("data", spec.name());
  std::unique_ptr<Source> source = AtField(spec, PairsField(spec) + ".source", [&] {
    return OpenImagePairs(param, PairsTransform(spec), HasEdges(spec),
                          Random(options.seed, options.stream ^ Stream("records")));
  });
  return AtDataField(spec, PairsField(spec) + ".source", [&] {
    return std::make_unique<Pipeline>(std::move(source), TransformOfPairs(spec), spec.phase(),
                                      options);
  });
}

// Returns what the labels' rows and columns are divided by.
int LabelDivisor(const LayerSpec& spec) {
  const uint32_t divisor = PairsParam(spec).label_divide_factor();
  if (divisor == 1) return 1;
  const std::string field = PairsField(spec) + ".label_divide_factor";
  spec.RefuseIf(!IsDense(spec), field, "only DenseImageData has label_divide_factor");
  spec.RefuseIf(divisor < 1 || divisor > 1024, field,
                "label_divide_factor must be from 1 to 1024, found ", divisor);
  return static_cast<int>(divisor);
}

// Returns the shape of a layer whose samples have the shape `image`, with the labels' plane.
LayerShape ShapeOfPairs(const LayerSpec& spec, const ImageShape& image) {
  const int64_t batch = PairsParam(spec).batch_size(), divisor = LabelDivisor(spec);
  spec.RefuseIf(divisor > std::min(image.height, image.width),
                PairsField(spec) + ".label_divide_factor", "label_divide_factor ", divisor,
                " leaves no labels of ", image.height, "x", image.width);
  std::vector<Shape> tops = {{batch, image.channels - 1, image.height, image.width},
                             {batch, 1, image.height / divisor, image.width / divisor},
                             {batch, 1, 1, 2}};
  tops.resize(static_cast<size_t>(spec.param.top_size()));
  LayerShape shape = ShapeOfSource(spec, std::move(tops));
  shape.features = FeaturesOfSizes(spec, AnySize(spec), Feature::kSeveralSizes);
  shape.exact_tops.assign(shape.tops.size(), true);
  shape.exact_tops[0] = false;
  return shape;
}

SampleSet SamplesOfPairs(const LayerSpec& spec, const Pipeline& pipeline) {
  const TransformationParameter transform = PairsTransform(spec);
  SampleSet set = pipeline.samples();
  DescribeMoves(TransformOfPairs(spec), spec.phase(), false, &set);
  const std::vector<float> factors(transform.scale_factors().begin(),
                                   transform.scale_factors().end());
  if (!factors.empty()) set.moves.push_back({"scale_factors", RangeText(factors)});
  return set;
}

LayerShape InferPairs(const LayerSpec& spec, const std::vector<Shape>&) {
  const ImageDataParameter& param = PairsParam(spec);
  const std::string field = PairsField(spec);
  spec.RefuseIf(param.batch_size() < 1, field + ".batch_size", "batch_size must be at least 1");
  spec.RefuseIf(param.label_type() != ImageDataParameter::PIXEL && spec.type() != "ImageSegData",
                field + ".label_type", spec.type(), " takes only label_type: PIXEL");
  spec.RefuseIf(param.balance(), field + ".balance", "samples of ", spec.type(),
                " have no class; remove balance");
  AtDataField(spec, field + ".source", [&] { CheckTransforms(TransformOfPairs(spec)); });
  try {
    PairsForm form;
    if (const PairsForm* running = RunningForm<PairsForm>(spec)) {
      form = *running;
    } else {
      form.opened = std::make_shared<OpenedSource<Pipeline>>([spec] { return OpenPairs(spec); });
      form.any_size = AnySize(spec);
      form.samples = SamplesOfPairs(spec, *form.opened->source());
      form.divisor = LabelDivisor(spec);
      form.scale = PairsTransform(spec).scale();
      form.edges = HasEdges(spec);
    }
    LayerShape shape = ShapeOfPairs(spec, form.opened->source()->shape());
    shape.samples = form.samples;
    if (!ReadsSource(spec)) form.opened = nullptr;
    shape.form = std::move(form);
    return shape;
  } catch (const Error& e) {
    if (!IsMissingSource(spec, e) || ReadsSource(spec)) throw;
    ImageShape image = {param.is_color() ? 4 : 2, static_cast<int>(param.new_height()),
                        static_cast<int>(param.new_width())};
    image = DeclaredShape(PairsTransform(spec), image);
    const bool guessed = image.count() == 0 && spec.options.usual_sample;
    if (guessed) {
      image.height = static_cast<int>((*spec.options.usual_sample)[1]);
      image.width = static_cast<int>((*spec.options.usual_sample)[2]);
    }
    if (image.count() == 0) throw;
    LayerShape shape = ShapeOfPairs(spec, image);
    shape.form = PairsForm();
    shape.missing = e;
    shape.guessed = guessed;
    if (!guessed) return shape;
    shape.missing =
        FileError(e.at(), e.message(), "; its images are assumed to be ", shape.tops[0].ToString());
    return shape;
  }
}

// Reads pairs into tops in host memory.
template <class T>
class PairsKernel : public PipelineKernel<PairsForm> {
 public:
  explicit PairsKernel(const KernelArgs& args) : PipelineKernel(args) {}

  void Forward(const Pass& pass) override {
    const Batch* const batch = BatchOf(pass);
    if (batch == nullptr) return;
    const ImageShape shape = batch->shape;
    planes_.resize(static_cast<size_t>(t_.tops[0].shape[0] * shape.count()));
    const int64_t plane = int64_t{shape.height} * shape.width, values = shape.count() - plane;
    T* const data = TopValues<T>(0);
    T* const labels = t_.tops.size() > 1 ? TopValues<T>(1) : nullptr;
    const int divisor = form_.divisor;
    const int64_t label_plane = int64_t{shape.height / divisor} * (shape.width / divisor);
    ParallelFor(t_.tops[0].shape[0], 1, [&](int64_t begin, int64_t end) {
      pipeline_->Write(*batch, begin, end, planes_.data());
      for (int64_t i = begin; i < end; ++i) {
        const float* from = planes_.data() + i * shape.count();
        std::copy_n(from, values, data + i * values);
        if (labels != nullptr) WriteLabels(shape, from + values, labels + i * label_plane);
      }
    });
    if (t_.tops.size() > 2) CopyTo<T>(t_.tops[2], batch->labels.data());
  }

 private:
  // Writes the labels of one image, or every divisor-th of each row and column. `from` is their
  // plane as the pipeline scaled it.
  void WriteLabels(const ImageShape& shape, const float* from, T* to) const {
    const int divisor = form_.divisor, rows = shape.height / divisor,
              columns = shape.width / divisor;
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) {
        const float label =
            std::round(from[int64_t{y} * divisor * shape.width + x * divisor] / form_.scale);
        *to++ = static_cast<T>(form_.edges ? (label >= 128 ? 1 : 0) : label);
      }
    }
  }

  std::vector<float> planes_;  // of a batch: those of the images, each followed by its labels
};

bool RegisterPairs(const std::string& type, const std::string& param, int most_tops) {
  KernelTypes::Get().Add(ReferenceKernel(type, &MakeSource<PairsForm, PairsKernel>));
  KernelTypes::Get().Add(
      AcceleratorKernel(type, &MakeSyntheticThere).Declines(&DeclinesHostRows<PairsForm>).Narrow());
  return LayerTypes::Get().Add(
      type, LayerType(&InferPairs)
                .Bottoms(0)
                .Tops(1, most_tops)
                .Reads({param, "transform_param"})
                .Ignores({"transform_param.emit_constraint", "transform_param.force_color",
                          "transform_param.force_gray"})
                .BatchFields({param + ".batch_size"}));
}
[[maybe_unused]] const bool pairs_registered =
    RegisterPairs("ImageSegData", "image_data_param", 3) &&
    RegisterPairs("DenseImageData", "dense_image_data_param", 2) &&
    RegisterPairs("ImageLabelmapData", "image_data_param", 2);

}  // namespace
}  // namespace doppio
