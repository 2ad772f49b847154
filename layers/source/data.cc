// Data, ImageData, WindowData, AnnotatedData: thin shells over data/, one of the two doors from
// layers to it.
//
// A net may also be built without its data (DataMode): to know the shapes, or to be timed on random
// data. Then the shape is the one the layer's own fields tell, and the source is opened only if
// they do not.
#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "core/base/random.h"
#include "core/base/threads.h"
#include "core/net/graph/layer.h"
#include "data/source/database_facts.h"
#include "data/source/declared_shape.h"
#include "data/pipeline/pipeline.h"
#include "data/augment/preprocessing.h"
#include "layers/source/batch_upload.h"
#include "layers/source/source_layer.h"

namespace doppio {
namespace {

bool IsImageList(const LayerSpec& spec) { return spec.type() == "ImageData"; }
bool IsWindows(const LayerSpec& spec) { return spec.type() == "WindowData"; }
bool IsAnnotated(const LayerSpec& spec) { return spec.type() == "AnnotatedData"; }

std::string ParamOf(const LayerSpec& spec) {
  if (IsWindows(spec)) return "window_data_param";
  return IsImageList(spec) ? "image_data_param" : "data_param";
}

TransformationParameter TransformOf(const LayerSpec& spec) {
  TransformationParameter transform = IsImageList(spec)
                                          ? spec.param.image_data_param().transform_param()
                                          : spec.param.data_param().transform_param();
  transform.MergeFrom(spec.param.transform_param());
  if (spec.param.data_param().force_encoded_color()) transform.set_force_color(true);
  return transform;
}

template <class Param>
PipelineOptions OptionsFrom(const Param& param) {
  PipelineOptions options;
  options.batch = static_cast<int>(param.batch_size());
  options.shuffle = param.shuffle();
  options.rand_skip = param.rand_skip();
  options.threads = param.has_threads() ? static_cast<int>(param.threads()) : 0;
  return options;
}

PipelineOptions OptionsOf(const LayerSpec& spec) {
  PipelineOptions options;
  if (IsWindows(spec)) {
    options.batch = static_cast<int>(spec.param.window_data_param().batch_size());
  } else if (IsImageList(spec)) {
    options = OptionsFrom(spec.param.image_data_param());
  } else {
    options = OptionsFrom(spec.param.data_param());
  }
  if (spec.param.data_param().prefetch() > 0) {
    options.prefetch = static_cast<int>(spec.param.data_param().prefetch());
  }
  if (spec.options.data_threads > 0) options.threads = spec.options.data_threads;
  options.bad_records = spec.options.bad_records;
  options.seed = spec.options.seed;
  options.stream = Stream("data", spec.name());
  options.sizes_vary = SizesVary(TransformOf(spec));
  const bool outside = spec.param.transform_param().has_mean_file();
  options.mean_at = spec.At((outside ? "" : ParamOf(spec) + ".") + "transform_param.mean_file");
  if (IsAnnotated(spec)) {
    options.max_boxes = static_cast<int>(spec.param.annotated_data_param().max_boxes());
    if (options.max_boxes < 1) {
      throw spec.Mistake("annotated_data_param.max_boxes", "max_boxes must be at least 1");
    }
    const ResizeParameter resize = TransformOf(spec).resize_param();
    // SSD heeds them only so, and only together.
    if (resize.resize_mode() == ResizeParameter::FIT_SMALL_SIZE && resize.height_scale() > 0 &&
        resize.width_scale() > 0) {
      options.box_rows = static_cast<int>(resize.height_scale());
      options.box_columns = static_cast<int>(resize.width_scale());
    }
  }
  if (options.batch < 1) {
    throw spec.Mistake(ParamOf(spec) + ".batch_size", "batch_size must be at least 1");
  }
  return options;
}

std::unique_ptr<Source> OpenSourceOf(const LayerSpec& spec, const PipelineOptions& options) {
  const Random random(options.seed, options.stream ^ Stream("records"));
  if (IsWindows(spec)) {
    return OpenWindows(spec.param.window_data_param(), TransformOf(spec), random);
  }
  std::unique_ptr<Source> source = IsImageList(spec)
                                       ? OpenImageList(spec.param.image_data_param())
                                       : OpenSource(spec.param.data_param(), spec.phase());
  if (!IsAnnotated(spec)) return source;
  return OpenAnnotated(std::move(source), spec.param.annotated_data_param(), TransformOf(spec),
                       random);
}

// What the source leaves to the pipeline.
TransformationParameter TransformBehindSource(const LayerSpec& spec) {
  if (IsWindows(spec)) return TransformationParameter();
  return IsAnnotated(spec) ? BehindAnnotated(TransformOf(spec))
                           : BehindAugmented(TransformOf(spec));
}

// What is wrong with transform_param whatever the data: found before they are opened, and without
// them.
void CheckTransformsOf(const LayerSpec& spec) {
  AtField(spec, "transform_param", [&] {
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

std::unique_ptr<Pipeline> OpenPipeline(const LayerSpec& spec) {
  const PipelineOptions options = OptionsOf(spec);
  std::unique_ptr<Source> source =
      AtField(spec, ParamOf(spec) + ".source", [&] { return OpenSourceOf(spec, options); });
  return AtField(spec, "transform_param", [&] {
    if (!IsWindows(spec) && !IsAnnotated(spec)) {
      const Random random(options.seed, options.stream ^ Stream("changes"));
      source = OpenAugmented(std::move(source), TransformOf(spec), spec.phase(), random);
    }
    return std::make_unique<Pipeline>(std::move(source), TransformBehindSource(spec), spec.phase(),
                                      options);
  });
}

// Of one sample.
struct SampleShape {
  ImageShape image;
  int labels = 1;
  std::optional<Preprocessing> preprocessing;  // where the source was opened
  std::optional<Error> missing;                // see LayerShape
};

// What the layer's fields say about its images without looking at them.
struct DeclaredSample {
  SampleShape sample;
  SourceFacts facts;
  bool known = false;
  bool sure = false;  // false: the usual, IDX files of MNIST's extents and sources of colour images
};

DeclaredSample Declared(const LayerSpec& spec) {
  const TransformationParameter transform = TransformOf(spec);
  const ImageDataParameter& list = spec.param.image_data_param();
  const DataParameter& data = spec.param.data_param();
  DeclaredSample declared;
  declared.sure = true;
  SourceFacts& facts = declared.facts;
  ImageShape& image = facts.image;
  if (IsImageList(spec)) {
    image = {list.is_color() ? 3 : 1, static_cast<int>(list.new_height()),
             static_cast<int>(list.new_width())};
    facts.channels = Preprocessing::BGR;
  } else if (IsWindows(spec)) {
    image.channels = 3;
    facts.channels = Preprocessing::BGR;
    declared.sure = false;  // the window file says
  } else if (data.backend() == DataParameter::CIFAR) {
    image = {3, 32, 32};
    facts.channels = Preprocessing::RGB;
  } else if (data.backend() == DataParameter::DIGITS || data.backend() == DataParameter::IDX) {
    image = {1, 28, 28};
    declared.sure = data.backend() == DataParameter::DIGITS;
  } else {
    image.channels = transform.mean_value_size() > 1 ? transform.mean_value_size() : 3;
    facts.channels = ChannelsOfDatabaseName(data.source());
    declared.sure = transform.mean_value_size() > 1;
  }
  if (image.channels == 1) facts.channels = Preprocessing::GRAY;
  declared.sample.image = DeclaredShape(transform, image);
  declared.sample.labels = std::max(1, spec.param.top_size() - 1);
  declared.known = declared.sample.image.count() > 0;
  return declared;
}

// None where the first record is bad and left out.
std::optional<Preprocessing> DescribeOpened(const LayerSpec& spec, const Pipeline& pipeline) {
  try {
    return DescribeImages(TransformOf(spec), FactsOf(pipeline.source()));
  } catch (const Error& e) {
    if (e.code() != ExitCode::kFile || pipeline.bad_records() == 0) throw;
    return std::nullopt;
  }
}

SampleShape OpenedShape(const LayerSpec& spec) {
  const std::unique_ptr<Pipeline> pipeline = OpenPipeline(spec);
  return {pipeline->data_shape(), pipeline->label_count(), DescribeOpened(spec, *pipeline),
          std::nullopt};
}

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

SampleShape ShapeOf(const LayerSpec& spec) {
  if (spec.options.data == DataMode::kOpen) return OpenedShape(spec);
  DeclaredSample declared = Declared(spec);
  if (spec.options.data == DataMode::kSynthetic && declared.known && declared.sure) {
    return declared.sample;
  }
  try {
    return OpenedShape(spec);
  } catch (const Error& e) {
    if (e.code() != ExitCode::kFile) throw;
    declared.sample.missing = e;
    if (declared.known) return declared.sample;
    throw FileError(e.at(),
                    e.message() + "; without it, the shape is known only if crop_size is set");
  }
}

LayerShape InferImages(const LayerSpec& spec, const std::vector<Shape>&) {
  const int64_t batch = OptionsOf(spec).batch;
  CheckTransformsOf(spec);
  const SampleShape sample = ShapeOf(spec);
  std::vector<Shape> tops = {
      Shape{batch, sample.image.channels, sample.image.height, sample.image.width}};
  const int label_tops = spec.param.top_size() - 1;
  if (IsAnnotated(spec)) {
    if (label_tops == 1) tops.push_back({1, 1, batch * OptionsOf(spec).max_boxes, kBoxLabels});
    LayerShape shape = ShapeOfSource(spec, std::move(tops));
    shape.missing = sample.missing;
    shape.exact_tops = {false, true};
    shape.exact_tops.resize(shape.tops.size());
    shape.preprocessing = sample.preprocessing;
    return shape;
  }
  if (label_tops > 1 && label_tops != sample.labels) {
    throw spec.Mistake("top",
                       std::to_string(label_tops) + " tops for labels, but each record has " +
                           std::to_string(sample.labels) +
                           "; give one top for all labels, or one each",
                       2);
  }
  for (int i = 0; i < label_tops; ++i) {
    // Caffe's shape for the usual single label; several in one top are its columns.
    tops.push_back(label_tops == 1 && sample.labels > 1 ? Shape{batch, sample.labels}
                                                        : Shape{batch});
  }
  LayerShape shape = ShapeOfSource(spec, std::move(tops));
  shape.missing = sample.missing;
  shape.exact_tops.assign(shape.tops.size(), true);  // labels
  shape.exact_tops[0] = false;
  shape.preprocessing = sample.preprocessing;
  return shape;
}

// Of AnnotatedData, as SSD has them: the images' objects one after the other, each with its image's
// place in the batch. Rows of -1, which stand for no object, come last.
void WriteObjects(const Batch& batch, int64_t images, int64_t count, float* to) {
  const float* from = batch.labels.data();
  float* const end = to + count;
  const int64_t boxes = count / images / kBoxLabels;
  for (int64_t row = 0; row < images * boxes; ++row, from += kBoxLabels) {
    if (*from < 0) continue;
    std::copy_n(from, kBoxLabels, to);
    *to = static_cast<float>(row / boxes);
    to += kBoxLabels;
  }
  std::fill(to, end, -1.0f);
}

// One number for each of `count` elements of the label top `top` (from 1 on) of `tops`.
void WriteLabels(bool annotated, const Batch& batch, size_t top, size_t tops, int64_t count,
                 float* to) {
  if (annotated) {
    return WriteObjects(batch, static_cast<int64_t>(batch.samples.size()), count, to);
  }
  const size_t labels = tops - 1;
  for (int64_t row = 0; row < count; ++row) {
    to[row] = batch.labels[labels == 1 ? static_cast<size_t>(row)
                                       : static_cast<size_t>(row) * labels + top - 1];
  }
}

template <class T>
class ImagesKernel : public Kernel {
 public:
  explicit ImagesKernel(const KernelArgs& args)
      : annotated_(IsAnnotated(*args.spec)), pipeline_(OpenPipeline(*args.spec)) {
    const std::vector<Shape>& tops = args.shape->tops;
    if (tops.size() > 1) labels_.resize(static_cast<size_t>(tops[1].count()));
  }

  void Forward(const Pass& pass) override {
    pipeline_->Shard(pass.rank, pass.ranks);
    const Batch& batch = pipeline_->Next();
    const Tensor& data = t_.tops[0];
    const int64_t count = std::max<int64_t>(1, pipeline_->data_shape().count());
    ParallelFor(data.shape.dim_or_1(0), (1 << 16) / count + 1, [&](int64_t begin, int64_t end) {
      pipeline_->Write(batch, begin, end, data.data<T>());
    });
    for (size_t i = 1; i < t_.tops.size(); ++i) {
      WriteLabels(annotated_, batch, i, t_.tops.size(), t_.tops[i].count(), labels_.data());
      CopyTo<T>(t_.tops[i], labels_.data());
    }
  }
  int64_t position() const override { return pipeline_->position(); }
  void Seek(int64_t sample) override { pipeline_->Seek(sample); }
  int64_t source_size() const override { return pipeline_->size(); }
  double wait_seconds() const override { return pipeline_->wait_seconds(); }
  int64_t bad_records() const override { return pipeline_->bad_records(); }

 private:
  const bool annotated_;
  const std::unique_ptr<Pipeline> pipeline_;
  std::vector<float> labels_;  // of one top; all are of one size
};

// On an accelerator: batches go there as they are, and are finished there.
class UploadedImagesKernel : public Kernel {
 public:
  explicit UploadedImagesKernel(const KernelArgs& args)
      : annotated_(IsAnnotated(*args.spec)),
        pipeline_(OpenPipeline(*args.spec)),
        upload_(
            (*BatchUploads::Get().Find(Name(args.device->kind())))(args.device, args.shape->tops)) {
    normalization_.means = pipeline_->augment().ChannelMeans(pipeline_->data_shape().channels);
    normalization_.scale = pipeline_->augment().scale();
    needs_.tops = LayoutsThere(args);
  }

  void Forward(const Pass& pass) override {
    const bool staged = staged_at_.has_value();
    staged_at_.reset();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (!staged) SendNext(pass);
    upload_->Receive(t_.tops, normalization_);
  }

  void Stage(const Pass& pass) override {
    if (staged_at_) return;
    staged_at_ = pipeline_->position();
    try {
      SendNext(pass);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  int64_t position() const override { return staged_at_ ? *staged_at_ : pipeline_->position(); }
  void Seek(int64_t sample) override {
    upload_->Drop();
    staged_at_.reset();
    failure_ = nullptr;
    pipeline_->Seek(sample);
  }
  int64_t source_size() const override { return pipeline_->size(); }
  double wait_seconds() const override { return pipeline_->wait_seconds(); }
  int64_t bad_records() const override { return pipeline_->bad_records(); }

 private:
  void SendNext(const Pass& pass) {
    pipeline_->Shard(pass.rank, pass.ranks);
    const Batch& batch = pipeline_->Next();
    FillImages(batch);
    for (size_t i = 1; i < t_.tops.size(); ++i) {
      WriteLabels(annotated_, batch, i, t_.tops.size(), t_.tops[i].count(),
                  static_cast<float*>(upload_->At(i)));
    }
    upload_->Send();
  }

  void FillImages(const Batch& batch) {
    const int64_t rows = static_cast<int64_t>(batch.samples.size());
    const int64_t count = pipeline_->data_shape().count(), grain = (1 << 16) / (count + 1) + 1;
    const bool bytes = std::none_of(batch.samples.begin(), batch.samples.end(),
                                    [](const CutPixels& sample) { return sample.finished; });
    upload_->Begin(bytes);
    void* const to = upload_->At(0);
    ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      if (!bytes) return pipeline_->Write(batch, begin, end, static_cast<float*>(to));
      for (int64_t i = begin; i < end; ++i) {
        const CutPixels& sample = batch.samples[static_cast<size_t>(i)];
        std::copy_n(sample.bytes.data(), count, static_cast<uint8_t*>(to) + i * count);
        static_cast<uint8_t*>(to)[rows * count + i] = sample.mirrored;
      }
    });
  }

  const bool annotated_;
  const std::unique_ptr<Pipeline> pipeline_;
  const std::unique_ptr<BatchUpload> upload_;
  Normalization normalization_;
  std::optional<int64_t> staged_at_;  // the position before Stage, until its batch is used
  std::exception_ptr failure_;        // of Stage, for the next Forward
};

std::unique_ptr<Kernel> MakeThere(const KernelArgs& args) {
  if (args.spec->options.data != DataMode::kOpen) return MakeSyntheticThere(args);
  return std::make_unique<UploadedImagesKernel>(args);
}

DOPPIO_REGISTER_LAYER("Data",
                      LayerType{0, 0, 1, kAny, false, false, &InferImages, &DescribeImagesOf});
DOPPIO_REGISTER_LAYER("ImageData",
                      LayerType{0, 0, 1, kAny, false, false, &InferImages, &DescribeImagesOf});
DOPPIO_REGISTER_LAYER("WindowData",
                      LayerType{0, 0, 1, 2, false, false, &InferImages, &DescribeImagesOf});
DOPPIO_REGISTER_LAYER("AnnotatedData",
                      LayerType{0, 0, 1, 2, false, false, &InferImages, &DescribeImagesOf});
DOPPIO_REGISTER_KERNEL({"Data", DeviceKind::kCpu, "reference", 0, &MakeSource<ImagesKernel>,
                        nullptr});
DOPPIO_REGISTER_KERNEL({"ImageData", DeviceKind::kCpu, "reference", 0, &MakeSource<ImagesKernel>,
                        nullptr});
DOPPIO_REGISTER_KERNEL({"WindowData", DeviceKind::kCpu, "reference", 0, &MakeSource<ImagesKernel>,
                        nullptr});
DOPPIO_REGISTER_KERNEL({"AnnotatedData", DeviceKind::kCpu, "reference", 0,
                        &MakeSource<ImagesKernel>, nullptr});
DOPPIO_REGISTER_KERNEL({"Data", DeviceKind::kCuda, "cuda", 10, &MakeThere, &DeclinesType, true});
DOPPIO_REGISTER_KERNEL({"ImageData", DeviceKind::kCuda, "cuda", 10, &MakeThere, &DeclinesType,
                        true});
DOPPIO_REGISTER_KERNEL({"WindowData", DeviceKind::kCuda, "cuda", 10, &MakeThere, &DeclinesType,
                        true});
DOPPIO_REGISTER_KERNEL({"AnnotatedData", DeviceKind::kCuda, "cuda", 10, &MakeThere, &DeclinesType,
                        true});

}  // namespace
}  // namespace doppio
