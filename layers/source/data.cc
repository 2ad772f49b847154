// Data, ImageData, WindowData, VideoData, AnnotatedData and BoxData: adapters of data/.
//
// A net may also be built without its data (DataMode), to infer its shapes or to time it on
// synthetic data. The shape then comes from the layer's fields, and the source is opened only if
// they do not give the shape.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/random.h"
#include "core/net/contract/layer.h"
#include "data/augment/augmented_source.h"
#include "data/augment/declared_shape.h"
#include "data/augment/preprocessing.h"
#include "data/augment/random_moves.h"
#include "data/decode/decoding.h"
#include "data/decode/source_facts.h"
#include "data/pipeline/pipeline.h"
#include "data/source/open_source.h"
#include "layers/source/images_kernels.h"
#include "layers/source/label_form.h"
#include "layers/source/source_layer.h"

namespace doppio {
namespace {

constexpr int kUsualBoxes = 30;  // per image in BoxData, as in the forks that have it

bool IsImageList(const LayerSpec& spec) { return spec.type() == "ImageData"; }
bool IsWindows(const LayerSpec& spec) { return spec.type() == "WindowData"; }
bool IsVideo(const LayerSpec& spec) { return spec.type() == "VideoData"; }
bool IsAnnotated(const LayerSpec& spec) { return LabelFormOf(spec.type()) != LabelForm::kNumbers; }
bool IsBoxes(const LayerSpec& spec) {
  return LabelFormOf(spec.type()) == LabelForm::kCenteredObjects;
}

// Returns the name of the message with the layer's fields.
std::string ParamOf(const LayerSpec& spec) {
  if (IsWindows(spec)) return "window_data_param";
  return IsImageList(spec) ? "image_data_param" : "data_param";
}

// Returns the transformations of the layer. Some files have a transform_param in data_param or
// image_data_param; fields of the layer's own transform_param override it.
TransformationParameter TransformOf(const LayerSpec& spec) {
  const DataParameter records =
      IsWindows(spec) || IsImageList(spec) ? DataParameter() : spec.param.data_param();
  TransformationParameter transform = IsImageList(spec)
                                          ? spec.param.image_data_param().transform_param()
                                          : records.transform_param();
  transform.MergeFrom(spec.param.transform_param());
  if (records.force_encoded_color()) transform.set_force_color(true);
  if (IsWindows(spec) && !transform.has_scale()) {
    transform.set_scale(spec.param.window_data_param().scale());
  }
  return transform;
}

// Returns the options in `param`, a DataParameter or ImageDataParameter in the field `name`.
template <class Param>
PipelineOptions OptionsFrom(const LayerSpec& spec, const std::string& name, const Param& param) {
  PipelineOptions options;
  options.batch = static_cast<int>(param.batch_size());
  options.shuffle = param.shuffle();
  options.balance = param.balance();
  spec.RefuseIf(param.balance() && spec.phase() == TEST, name + ".balance",
                "balance is for training: a test sees each sample once; remove it here, or limit "
                "the layer to training by include { phase: TRAIN }");
  spec.RefuseIf(param.balance() && (IsVideo(spec) || IsAnnotated(spec)), name + ".balance",
                "samples of ", spec.type(), " have no class; remove balance");
  options.rand_skip = param.rand_skip();
  options.threads = DataThreadsOf(spec, name, param);
  return options;
}

// Returns true if the layer brings all images to one size.
bool HasOneSize(const LayerSpec& spec) {
  if (IsWindows(spec)) return true;
  const TransformationParameter transform = TransformOf(spec);
  const bool resized = IsImageList(spec) && spec.param.image_data_param().new_height() > 0;
  return resized || transform.crop_size() > 0 || transform.crop_h() > 0;
}

// Returns the options of the layer's pipeline. Throws UserError.
PipelineOptions OptionsOf(const LayerSpec& spec) {
  PipelineOptions options;
  if (IsWindows(spec)) {
    options.threads = spec.options.data_threads;
    options.batch = static_cast<int>(spec.param.window_data_param().batch_size());
  } else if (IsImageList(spec)) {
    options = OptionsFrom(spec, "image_data_param", spec.param.image_data_param());
  } else {
    options = OptionsFrom(spec, "data_param", spec.param.data_param());
  }
  if (spec.param.data_param().prefetch() > 0) {
    options.prefetch = static_cast<int>(spec.param.data_param().prefetch());
  }
  // Frames are read in ascending order.
  if (IsVideo(spec)) options.threads = 1;
  options.bad_records = spec.options.bad_records;
  options.seed = spec.options.seed;
  options.stream = Stream("data", spec.name());
  options.sizes_vary = SizesVary(TransformOf(spec));
  options.any_size = options.batch == 1 && !HasOneSize(spec);
  const bool outside = spec.param.transform_param().has_mean_file();
  options.mean_at = spec.At((outside ? "" : ParamOf(spec) + ".") + "transform_param.mean_file");
  if (IsAnnotated(spec)) {
    const AnnotatedDataParameter& param = spec.param.annotated_data_param();
    const bool usual = IsBoxes(spec) && !param.has_max_boxes();
    options.max_boxes = usual ? kUsualBoxes : static_cast<int>(param.max_boxes());
    spec.RefuseIf(options.max_boxes < 1, "annotated_data_param.max_boxes",
                  "max_boxes must be at least 1");
    const ResizeParameter resize = TransformOf(spec).resize_param();
    // As in SSD, the scales apply only with FIT_SMALL_SIZE and only if both are given.
    if (resize.resize_mode() == ResizeParameter::FIT_SMALL_SIZE && resize.height_scale() > 0 &&
        resize.width_scale() > 0) {
      options.box_rows = static_cast<int>(resize.height_scale());
      options.box_columns = static_cast<int>(resize.width_scale());
    }
  }
  spec.RefuseIf(options.batch < 1, ParamOf(spec) + ".batch_size", "batch_size must be at least 1");
  return options;
}

// Opens the layer's source of records. Throws FileError or UserError.
std::unique_ptr<Source> OpenSourceOf(const LayerSpec& spec, const PipelineOptions& options) {
  const Random random(options.seed, options.stream ^ Stream("records"));
  if (IsWindows(spec)) {
    return OpenWindows(spec.param.window_data_param(), TransformOf(spec), random);
  }
  if (IsVideo(spec)) return OpenVideo(spec.param.video_data_param());
  std::unique_ptr<Source> source = IsImageList(spec)
                                       ? OpenImageList(spec.param.image_data_param())
                                       : OpenSource(spec.param.data_param(), spec.phase());
  source = WithDecoding(std::move(source), DecodingOf(TransformOf(spec)));
  if (!IsAnnotated(spec)) return source;
  return OpenAnnotated(std::move(source), spec.param.annotated_data_param(), TransformOf(spec),
                       random);
}

// Returns the transformations that the pipeline applies, i.e. those that the source does not apply
// itself.
TransformationParameter TransformBehindSource(const LayerSpec& spec) {
  if (IsWindows(spec)) return TransformationParameter();
  return IsAnnotated(spec) ? WithoutAnnotatedTransforms(TransformOf(spec))
                           : WithoutAugmentedTransforms(TransformOf(spec));
}

// Returns the field that names the layer's source.
std::string SourceFieldOf(const LayerSpec& spec) {
  return IsVideo(spec) ? "video_data_param" : ParamOf(spec) + ".source";
}

void CheckSamplersOf(const LayerSpec& spec) {
  const auto& samplers = spec.param.annotated_data_param().batch_sampler();
  for (int i = 0; i < samplers.size(); ++i) {
    AtField(spec, "annotated_data_param.batch_sampler[" + std::to_string(i) + "].sampler", [&] {
      AnnotatedDataParameter one;
      *one.add_batch_sampler() = samplers[i];
      CheckAnnotated(one, TransformationParameter());
    });
  }
}

// Throws UserError for mistakes in transform_param that can be found without the data.
void CheckTransformsOf(const LayerSpec& spec) {
  if (IsAnnotated(spec)) CheckSamplersOf(spec);
  AtDataField(spec, SourceFieldOf(spec), [&] {
    const TransformationParameter transform = TransformOf(spec);
    if (IsWindows(spec)) return RefuseUnknownTransforms(transform);
    if (IsAnnotated(spec)) {
      CheckAnnotated(spec.param.annotated_data_param(), transform);
    } else {
      CheckAugmented(transform);
    }
    CheckTransforms(TransformBehindSource(spec));
  });
}

// Opens the layer's source and the pipeline that reads it. Throws FileError or UserError.
std::unique_ptr<Pipeline> OpenPipeline(const LayerSpec& spec) {
  const PipelineOptions options = OptionsOf(spec);
  const std::string field = SourceFieldOf(spec);
  std::unique_ptr<Source> source =
      AtField(spec, field, [&] { return OpenSourceOf(spec, options); });
  return AtDataField(spec, field, [&] {
    if (!IsWindows(spec) && !IsAnnotated(spec)) {
      const Random random(options.seed, options.stream ^ Stream("changes"));
      source = OpenAugmented(std::move(source), TransformOf(spec), spec.phase(), random);
    }
    return std::make_unique<Pipeline>(std::move(source), TransformBehindSource(spec), spec.phase(),
                                      options);
  });
}

// The shape of one sample, and what is known about its source.
struct SampleShape {
  ImageShape image;
  int labels = 1;
  std::optional<Preprocessing> preprocessing;  // set if the source was opened
  std::optional<Error> missing;                // see LayerShape::missing
  std::optional<SampleSet> samples;            // set if the source was opened
  std::shared_ptr<OpenedSource<Pipeline>> opened;
  bool guessed = false;  // see LayerShape::guessed
};

// The shape of a sample according to the layer's fields, without reading any image.
struct DeclaredSample {
  SampleShape sample;
  SourceFacts facts;
  // True if the fields give the shape.
  bool known = false;
  // False if the fields leave the shape open. The shape is then the usual one of such a source.
  bool sure = false;
};

DeclaredFacts DeclaredFactsOfLayer(const LayerSpec& spec) {
  if (!IsImageList(spec) && !IsWindows(spec) && !IsVideo(spec))
    return AtField(spec, "data_param",
                   [&] { return DeclaredFactsOf(spec.param.data_param(), TransformOf(spec)); });
  DeclaredFacts declared;
  declared.facts.channels = Preprocessing::BGR;
  if (IsImageList(spec)) {
    const ImageDataParameter& list = spec.param.image_data_param();
    declared.facts.image = {list.is_color() ? 3 : 1, static_cast<int>(list.new_height()),
                            static_cast<int>(list.new_width())};
    declared.facts.decode.emplace();
    declared.facts.decode->height = declared.facts.image.height;
    declared.facts.decode->width = declared.facts.image.width;
    declared.facts.decode->scaled = list.scaled_decode();
  } else {
    declared.facts.image.channels = 3;
    if (IsVideo(spec)) return declared;
    declared.sure = false;  // the window file gives the number of channels
  }
  return declared;
}

DeclaredSample Declared(const LayerSpec& spec) {
  const DeclaredFacts of_layer = DeclaredFactsOfLayer(spec);
  DeclaredSample declared;
  declared.facts = of_layer.facts;
  declared.sure = of_layer.sure;
  const ImageShape& image = declared.facts.image;
  if (image.channels == 1) declared.facts.channels = Preprocessing::GRAY;
  declared.sample.image = DeclaredShape(TransformOf(spec), image);
  declared.sample.labels = std::max(1, spec.param.top_size() - 1);
  declared.known = declared.sample.image.count() > 0;
  return declared;
}

// Returns nullopt if the first record is bad and was skipped.
std::optional<SourceFacts> FactsOfOpened(const Pipeline& pipeline) {
  try {
    return FactsOf(pipeline.reader().source());
  } catch (const Error& e) {
    if (e.code() != ExitCode::kFile || pipeline.reader().bad_records() == 0) throw;
    return std::nullopt;
  }
}

SampleSet SamplesOf(const LayerSpec& spec, const Pipeline& pipeline,
                    const std::optional<SourceFacts>& facts) {
  TransformationParameter transform = TransformOf(spec);
  SampleSet set = pipeline.samples();
  // A window becomes as large as the crop; there is no crop at a random place.
  if (IsWindows(spec)) transform.clear_crop_size();
  if (!IsWindows(spec) && facts) set.stored = {facts->image.height, facts->image.width};
  DescribeMoves(transform, spec.phase(), IsAnnotated(spec), &set);
  if (spec.param.annotated_data_param().batch_sampler_size() > 0)
    set.moves.push_back({"batch_sampler", spec.param.annotated_data_param().ShortDebugString()});
  return set;
}

// Opens the source, or takes the one that is open, and returns its shape. Throws FileError or
// UserError.
SampleShape OpenedShape(const LayerSpec& spec) {
  SampleShape sample;
  if (const ImagesForm* running = RunningForm<ImagesForm>(spec)) {
    sample.opened = running->opened;
    sample.image = running->opened->source()->shape();
    sample.labels = running->opened->source()->reader().label_count();
    sample.preprocessing = running->preprocessing;
    sample.samples = running->samples;
    return sample;
  }
  auto opened = std::make_shared<OpenedSource<Pipeline>>([spec] { return OpenPipeline(spec); });
  const Pipeline& pipeline = *opened->source();
  const std::optional<SourceFacts> facts = FactsOfOpened(pipeline);
  sample.image = pipeline.reader().data_shape();
  sample.labels = pipeline.reader().label_count();
  if (facts) sample.preprocessing = DescribeImages(TransformOf(spec), *facts);
  sample.samples = SamplesOf(spec, pipeline, facts);
  sample.opened = std::move(opened);
  return sample;
}

// Returns how images become values (LayerType::describe_images). If the source is missing, uses the
// layer's fields.
Preprocessing DescribeImagesOf(const LayerSpec& spec) {
  SourceFacts facts;
  try {
    facts = FactsOf(*OpenSourceOf(spec, OptionsOf(spec)));
  } catch (const Error& e) {
    if (e.code() != ExitCode::kFile) throw;
    facts = Declared(spec).facts;
  }
  return AtField(spec, "transform_param", [&] { return DescribeImages(TransformOf(spec), facts); });
}

// Returns `sample`, whose shape is assumed, because the source is missing with `error`.
SampleShape GuessedSample(SampleShape sample, const Error& error) {
  sample.guessed = true;
  sample.missing = FileError(error.at(), error.message(), "; its samples are assumed to be ",
                             sample.image.ToString());
  return sample;
}

// Returns the shape of a sample. Opens the source if DataMode or an unknown shape requires it.
SampleShape ShapeOf(const LayerSpec& spec) {
  if (spec.options.data == DataMode::kOpen) return OpenedShape(spec);
  DeclaredSample declared = Declared(spec);
  if (spec.options.data == DataMode::kSynthetic && declared.known && declared.sure) {
    return declared.sample;
  }
  try {
    return OpenedShape(spec);
  } catch (const Error& e) {
    if (!IsMissingSource(spec, e)) throw;
    SampleShape sample = declared.sample;
    sample.missing = e;
    // Other numbers of channels come from the number of mean_value.
    const bool usual_channels = sample.image.channels == 1 || sample.image.channels == 3;
    if (declared.known) return usual_channels ? sample : GuessedSample(std::move(sample), e);
    if (spec.options.usual_sample) {
      const Shape& usual = *spec.options.usual_sample;
      sample.image = {static_cast<int>(usual[0]), static_cast<int>(usual[1]),
                      static_cast<int>(usual[2])};
      return GuessedSample(std::move(sample), e);
    }
    throw FileError(e.at(), e.message(),
                    "; without it, the shape is known only if crop_size is set");
  }
}

// Returns the shape of a layer with these tops.
LayerShape ShapeOfImages(const LayerSpec& spec, const SampleShape& sample,
                         std::vector<Shape> tops) {
  LayerShape shape = ShapeOfSource(spec, std::move(tops));
  shape.form = ImagesForm{ReadsSource(spec) ? sample.opened : nullptr, OptionsOf(spec).any_size,
                          sample.samples, sample.preprocessing};
  shape.missing = sample.missing;
  shape.guessed = sample.guessed;
  shape.preprocessing = sample.preprocessing;
  shape.features = FeaturesOfSizes(spec, OptionsOf(spec).any_size, Feature::kSeveralSizes);
  shape.samples = sample.samples;
  return shape;
}

LayerShape InferImages(const LayerSpec& spec, const std::vector<Shape>&) {
  const int64_t batch = OptionsOf(spec).batch;
  CheckTransformsOf(spec);
  const SampleShape sample = ShapeOf(spec);
  std::vector<Shape> tops = {
      Shape{batch, sample.image.channels, sample.image.height, sample.image.width}};
  const int label_tops = spec.param.top_size() - 1;
  if (IsAnnotated(spec)) {
    const int64_t boxes = OptionsOf(spec).max_boxes;
    if (label_tops == 1) {
      tops.push_back(IsBoxes(spec) ? Shape{batch, boxes * kCenteredBoxLabels}
                                   : Shape{1, 1, batch * boxes, kBoxLabels});
    }
    LayerShape shape = ShapeOfImages(spec, sample, std::move(tops));
    shape.exact_tops = {false, true};
    shape.exact_tops.resize(shape.tops.size());
    return shape;
  }
  spec.RefuseIf(label_tops > 1 && label_tops != sample.labels, {"top", 2}, label_tops,
                " tops for labels, but each record has ", sample.labels,
                "; give one top for all labels, or one for each");
  for (int i = 0; i < label_tops; ++i) {
    // A single label has Caffe's shape. If one top holds several labels, they are its columns.
    tops.push_back(label_tops == 1 && sample.labels > 1 ? Shape{batch, sample.labels}
                                                        : Shape{batch});
  }
  LayerShape shape = ShapeOfImages(spec, sample, std::move(tops));
  shape.exact_tops.assign(shape.tops.size(), true);  // the label tops
  shape.exact_tops[0] = false;
  return shape;
}

// Returns why an accelerator declines the source, or "".
std::string DeclinesUploads(const KernelArgs& args) {
  const auto& form = args.Form<ImagesForm>();
  if (form.any_size && !form.synthetic()) return "its images may have several sizes";
  return WhyNoUploads(args);
}

// Returns the kernel for an accelerator.
std::unique_ptr<Kernel> MakeUploaded(const KernelArgs& args) {
  if (args.Form<ImagesForm>().synthetic()) return MakeSyntheticThere(args);
  return std::make_unique<UploadedImagesKernel>(args);
}

// `param` has the batch size. `more` is what else the layer reads, `unused` are the fields of
// transform_param without effect.
bool RegisterImages(const std::string& type, const std::string& param, int most_tops,
                    const std::vector<std::string>& more, std::vector<std::string> unused) {
  std::vector<std::string> reads = {param, "transform_param"};
  reads.insert(reads.end(), more.begin(), more.end());
  for (std::string& field : unused) field = "transform_param." + field;
  KernelTypes::Get().Add(ReferenceKernel(type, &MakeSource<ImagesForm, ImagesKernel>));
  KernelTypes::Get().Add(
      AcceleratorKernel(type, &MakeUploaded).Declines(&DeclinesUploads).Narrow());
  return LayerTypes::Get().Add(type, LayerType(&InferImages)
                                         .Bottoms(0)
                                         .Tops(1, most_tops)
                                         .DescribesImages(&DescribeImagesOf)
                                         .Reads(reads)
                                         .Ignores(unused)
                                         .BatchFields({param + ".batch_size"}));
}
[[maybe_unused]] const bool images_registered =
    RegisterImages("Data", "data_param", kAny, {}, {"emit_constraint", "ignore_label"}) &&
    RegisterImages("ImageData", "image_data_param", kAny, {"data_param.prefetch"},
                   {"emit_constraint", "ignore_label"}) &&
    RegisterImages("WindowData", "window_data_param", 2, {"data_param.prefetch"},
                   {"emit_constraint", "ignore_label"}) &&
    RegisterImages("VideoData", "data_param", 2, {"video_data_param"},
                   {"emit_constraint", "ignore_label", "force_color", "force_gray", "exif_rotation",
                    "sixteen_bit_range"}) &&
    RegisterImages("AnnotatedData", "data_param", 2, {}, {"ignore_label"}) &&
    RegisterImages("BoxData", "data_param", 2, {"annotated_data_param"}, {"ignore_label"});

}  // namespace
}  // namespace doppio
