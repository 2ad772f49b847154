// RoiData feeds Faster R-CNN and R-FCN as py-faster-rcnn's data layer does: one image in its own
// size and the objects in it.
//   tops: the image 1 x 3 x H x W; im_info 1 x 3 (H, W, scale); gt_boxes N x 5 (x1, y1, x2, y2,
//   class, in pixels of the scaled image); and, for DetectionEvaluate, labels 1 x 1 x N x 8
//   (detection_bottoms.h), with difficult objects. An image without objects has one empty row.
// The shapes of the tops change from image to image, unless all images have one size and max_boxes
// is set (core/net/contract/changing_tops.h).
#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/random.h"
#include "core/net/contract/changing_tops.h"
#include "core/net/contract/grouped_source.h"
#include "core/net/contract/layer.h"
#include "core/net/contract/sample_source.h"
#include "data/annotation/annotated_files.h"
#include "data/annotation/roi_feed.h"
#include "data/decode/decoding.h"
#include "data/source/open_source.h"
#include "layers/source/opened_source.h"
#include "layers/source/source_layer.h"

namespace doppio {
namespace {

constexpr int64_t kRoiColumns = 5, kLabelColumns = 8;

// Returns true if the layer reads the source of data_param.
bool ReadsRecords(const LayerSpec& spec) { return spec.param.has_data_param(); }

// Throws UserError for fields that the layer does not read, or that contradict each other.
void CheckRoiFields(const LayerSpec& spec) {
  const RoiDataParameter& param = spec.param.roi_data_param();
  spec.RefuseIf(ReadsRecords(spec) && param.has_source(), "roi_data_param",
                "has a source, and so has data_param; give one of them");
  spec.RefuseIf(param.short_side() < 1 || param.short_side() > 65535, "roi_data_param.short_side",
                "short_side must be from 1 to 65535");
  spec.RefuseIf(param.max_side() < 1 || param.max_side() > 65535, "roi_data_param.max_side",
                "max_side must be from 1 to 65535");
  spec.RefuseIf(spec.param.data_param().balance(), "data_param.balance",
                "samples of RoiData have no class; remove balance");
  TransformationParameter others = spec.param.transform_param();
  const int means = others.mean_value_size();
  spec.RefuseIf(means > 1 && means != 3, "transform_param.mean_value", "mean_value is given ",
                means, " times; give it once, or 3 times for blue, green and red");
  others.clear_mean_value();
  others.clear_scale();
  spec.RefuseIf(others.std_value_size() > 1 && others.std_value_size() != 3,
                "transform_param.std_value", "std_value is given ", others.std_value_size(),
                " times; give it once, or 3 times for blue, green and red");
  others.clear_std_value();
  others.clear_force_color();
  others.clear_exif_rotation();
  others.clear_sixteen_bit_range();
  spec.RefuseIf(others.ByteSizeLong() > 0, "transform_param",
                "of transform_param, RoiData reads only mean_value, scale, std_value, "
                "exif_rotation and sixteen_bit_range");
  AtField(spec, "transform_param", [&] {
    CheckDecoding(spec.param.transform_param());
    CheckStdValues(spec.param.transform_param());
  });
}

RoiFeedOptions RoiOptions(const LayerSpec& spec) {
  const RoiDataParameter& param = spec.param.roi_data_param();
  const TransformationParameter& transform = spec.param.transform_param();
  const bool train = spec.phase() == TRAIN;
  RoiFeedOptions options;
  options.short_side = static_cast<int>(param.short_side());
  options.max_side = static_cast<int>(param.max_side());
  options.use_flipped = train && param.use_flipped();
  options.use_difficult = param.use_difficult();
  options.shuffle = train && param.shuffle();
  options.max_boxes = param.max_boxes();
  options.means.assign(transform.mean_value().begin(), transform.mean_value().end());
  options.scale = ChannelScale(transform);
  options.seed = spec.options.seed;
  options.stream = Stream("data", spec.name());
  options.bad_records = spec.options.bad_records;
  return options;
}

// Returns the error for a layer without a source. Nets of py-faster-rcnn have none, so it counts as
// a missing file.
FileError NoRoiSource(const LayerSpec& spec) {
  return FileError(
      spec.At("roi_data_param"), "layer '", spec.name(),
      "': RoiData needs roi_data_param { source: ... }, a list of 'image annotation.xml' lines or "
      "a JSON file of COCO, or data_param with the backend of annotated records");
}

bool HasRoiSource(const LayerSpec& spec) {
  return ReadsRecords(spec) || spec.param.roi_data_param().has_source();
}

// Throws UserError or FileError.
std::unique_ptr<Source> OpenRoiSource(const LayerSpec& spec) {
  if (!HasRoiSource(spec)) throw NoRoiSource(spec);
  const DecodeOptions decoding = DecodingOf(spec.param.transform_param());
  if (ReadsRecords(spec)) {
    return AtField(spec, "data_param", [&] {
      return WithDecoding(OpenSource(spec.param.data_param(), spec.phase()), decoding);
    });
  }
  return AtField(spec, "roi_data_param.source", [&] {
    return OpenAnnotatedFiles(spec.param.roi_data_param(), spec.phase() == TEST, decoding);
  });
}

struct RoiForm : SourceForm<RoiFeed> {
  int64_t max_boxes = 0;
};

// Returns the number of rows for `objects` objects.
int64_t RoiRows(int64_t max_boxes, size_t objects) {
  return max_boxes > 0 ? max_boxes : std::max<int64_t>(1, static_cast<int64_t>(objects));
}

std::vector<Shape> ShapesOfSample(const RoiSample& sample, int64_t max_boxes, int tops) {
  std::vector<Shape> shapes = {{1, 3, sample.size.height, sample.size.width},
                               {1, 3},
                               {RoiRows(max_boxes, sample.boxes.size()), kRoiColumns},
                               {1, 1, RoiRows(max_boxes, sample.objects.size()), kLabelColumns}};
  shapes.resize(static_cast<size_t>(tops));
  return shapes;
}

// Returns a sample of the size that the fields declare: that of the records, or else a guess, the
// largest. Layers that RoiData replaces have no fields, and some of their loaders pad images to
// multiples of 32 (PVANET).
RoiSample DeclaredSample(const LayerSpec& spec, const RoiFeedOptions& options, bool* guessed) {
  ImageShape image;
  if (ReadsRecords(spec)) {
    image = AtField(spec, "data_param", [&] {
      return DeclaredFactsOf(spec.param.data_param(), spec.param.transform_param()).facts.image;
    });
  }
  *guessed = image.height == 0;
  if (*guessed) image = {3, options.short_side, options.max_side};
  RoiSample sample;
  sample.size = ScaleShortSide(image.height, image.width, options.short_side, options.max_side);
  if (*guessed && !spec.param.has_roi_data_param()) sample.size = {608, 1024, 1};
  return sample;
}

Preprocessing DescribeRoiImages(const LayerSpec& spec, const SourceFacts& facts) {
  const RoiFeedOptions options = RoiOptions(spec);
  Preprocessing record;
  record.set_channels(facts.channels);
  record.set_scale(spec.param.transform_param().scale());
  *record.mutable_std_value() = spec.param.transform_param().std_value();
  SetDecoding(DecodingOf(spec.param.transform_param()), &record);
  record.mutable_mean()->Add(options.means.begin(), options.means.end());
  record.set_short_side(static_cast<uint32_t>(options.short_side));
  record.set_max_side(static_cast<uint32_t>(options.max_side));
  for (const std::string& name : facts.class_names) record.add_class_name(name);
  return record;
}

// Returns how images become values. If the source is missing, uses the layer's fields.
Preprocessing DescribeRoiData(const LayerSpec& spec) {
  CheckRoiFields(spec);
  try {
    if (HasRoiSource(spec)) return DescribeRoiImages(spec, OpenRoiSource(spec)->facts());
  } catch (const Error& e) {
    if (e.code() != ExitCode::kFile) throw;
  }
  SourceFacts facts;
  facts.channels = Preprocessing::BGR;
  return DescribeRoiImages(spec, facts);
}

LayerShape ShapeOfRoiData(const LayerSpec& spec, const RoiSample& sample, RoiForm form) {
  form.max_boxes = spec.param.roi_data_param().max_boxes();
  LayerShape shape =
      ShapeOfSource(spec, ShapesOfSample(sample, form.max_boxes, spec.param.top_size()));
  shape.exact_tops.assign(shape.tops.size(), true);
  shape.exact_tops[0] = false;
  shape.preprocessing = form.preprocessing;
  shape.samples = form.samples;
  shape.features = FeaturesOfSizes(spec, true, Feature::kChangingTops);
  shape.form = std::move(form);
  return shape;
}

// Opens the feed and reads its first image, or takes the feed that is open.
LayerShape OpenedRoiShape(const LayerSpec& spec, const RoiFeedOptions& options) {
  RoiForm form;
  if (const RoiForm* running = RunningForm<RoiForm>(spec)) {
    form = *running;
  } else {
    form.opened = std::make_shared<OpenedSource<RoiFeed>>(
        [spec, options] { return std::make_shared<RoiFeed>(OpenRoiSource(spec), options); });
    form.preprocessing = DescribeRoiImages(spec, form.opened->source()->source().facts());
    form.samples = form.opened->source()->samples();
  }
  const std::shared_ptr<RoiFeed> feed = form.opened->source();
  if (!ReadsSource(spec)) form.opened = nullptr;
  return ShapeOfRoiData(spec, feed->current(), std::move(form));
}

LayerShape InferRoiData(const LayerSpec& spec, const std::vector<Shape>&) {
  CheckRoiFields(spec);
  const RoiFeedOptions options = RoiOptions(spec);
  const auto declared = [&](const std::optional<Error>& missing) {
    bool guessed = false;
    LayerShape shape = ShapeOfRoiData(spec, DeclaredSample(spec, options, &guessed), RoiForm());
    shape.missing = missing;
    shape.guessed = guessed && missing;
    if (shape.guessed) {
      shape.missing = FileError(missing->at(), missing->message(),
                                "; its images are assumed to be ", shape.tops[0].ToString());
    }
    return shape;
  };
  if (spec.options.data == DataMode::kSynthetic) return declared(std::nullopt);
  try {
    return OpenedRoiShape(spec, options);
  } catch (const Error& e) {
    if (!IsMissingSource(spec, e) || ReadsSource(spec)) throw;
    return declared(e);
  }
}

template <class T>
class RoiData : public Kernel,
                public SampleSource,
                public ChangesTops,
                public SharesForm,
                public GroupedSource {
 public:
  explicit RoiData(const KernelArgs& args)
      : form_(args.Form<RoiForm>()), feed_(form_.opened->Take()) {}

  void Forward(const Pass& pass) override {
    const RoiSample& sample = pass.again ? feed_->current() : feed_->Next(pass.rank, pass.ranks);
    const std::vector<Shape> shapes =
        ShapesOfSample(sample, form_.max_boxes, static_cast<int>(t_.tops.size()));
    changed_ = false;
    for (size_t i = 0; i < shapes.size(); ++i) changed_ = changed_ || shapes[i] != t_.tops[i].shape;
    if (!changed_) Write(sample);
  }

  bool changed() const override { return changed_; }
  std::any NextForm(bool) override { return FormAgain(form_, feed_); }

  int64_t position() const override { return feed_->position(); }
  void Seek(int64_t sample) override { feed_->Seek(sample); }
  int64_t source_size() const override { return feed_->size(); }
  double wait_seconds() const override { return feed_->wait_seconds(); }
  int64_t bad_records() const override { return feed_->bad_records(); }
  void Join(const GroupRule& rule) override { feed_->Join(rule); }
  RecordProbe Probe() override { return feed_->Probe(); }
  std::string NameOfSample(int64_t sample) const override { return feed_->NameOf(sample); }

 private:
  void Write(const RoiSample& sample) {
    CopyTo<T>(t_.tops[0], sample.data.data());
    T* info = TopValues<T>(1);
    info[0] = static_cast<T>(sample.size.height);
    info[1] = static_cast<T>(sample.size.width);
    info[2] = static_cast<T>(sample.size.scale);
    T* to = TopValues<T>(2);
    std::fill_n(to, t_.tops[2].count(), T(0));
    for (const std::array<float, kRoiColumns>& row : sample.boxes)
      to = std::copy(row.begin(), row.end(), to);
    if (t_.tops.size() > 3) WriteLabels(sample);
  }

  void WriteLabels(const RoiSample& sample) {
    T* to = TopValues<T>(3);
    std::fill_n(to, t_.tops[3].count(), T(-1));
    for (const ObjectBox& object : sample.objects) {
      const std::array<float, kLabelColumns> row = {0,
                                                    object.label,
                                                    object.instance,
                                                    object.box.xmin,
                                                    object.box.ymin,
                                                    object.box.xmax,
                                                    object.box.ymax,
                                                    object.difficult ? 1.0f : 0.0f};
      to = std::copy(row.begin(), row.end(), to);
    }
  }

  const RoiForm form_;
  const std::shared_ptr<RoiFeed> feed_;
  bool changed_ = false;
};

// Writes synthetic data: values in (-1, 1], and one object of class 1 in the middle of the image.
template <class T>
class SyntheticRoiData : public Kernel {
 public:
  explicit SyntheticRoiData(const KernelArgs& args) : values_(args) {}

  void Forward(const Pass& pass) override {
    if (std::exchange(written_, true)) return;
    const Shape& image = t_.tops[0].shape;
    values_.Fill(0, 1, image, pass.part(), TopValues<T>(0));
    const T height = static_cast<T>(image[2]), width = static_cast<T>(image[3]);
    const std::vector<std::vector<T>> rows = {
        {height, width, T(1)},
        {width / 4, height / 4, width * 3 / 4 - 1, height * 3 / 4 - 1, T(1)},
        {T(0), T(1), T(0), T(0.25), T(0.25), T(0.75), T(0.75), T(0)}};
    for (size_t i = 1; i < t_.tops.size(); ++i) {
      T* to = TopValues<T>(i);
      std::fill_n(to, t_.tops[i].count(), i == 3 ? T(-1) : T(0));
      std::copy(rows[i - 1].begin(), rows[i - 1].end(), to);
    }
  }

 private:
  const SyntheticTops values_;
  bool written_ = false;
};

std::unique_ptr<Kernel> MakeRoiData(const KernelArgs& args) {
  return args.Form<RoiForm>().synthetic() ? MakeForFloat<SyntheticRoiData>(args)
                                          : MakeForFloat<RoiData>(args);
}

// Returns false for a layer of Fast R-CNN, whose second top is the regions.
bool FeedsProposals(const LayerParameter& layer) { return layer.top(1) == "im_info"; }

DOPPIO_REGISTER_LAYER("RoiData",
                      LayerType(&InferRoiData)
                          .Bottoms(0)
                          .Tops(3, 4)
                          .DescribesImages(&DescribeRoiData)
                          .Reads({"roi_data_param", "data_param", "transform_param",
                                  "python_param"})
                          .Ignores({"data_param.batch_size"})
                          .StandsFor({"roi_data_layer.layer.RoIDataLayer"}, &FeedsProposals));
DOPPIO_REGISTER_KERNEL(ReferenceKernel("RoiData", &MakeRoiData));

}  // namespace
}  // namespace doppio
