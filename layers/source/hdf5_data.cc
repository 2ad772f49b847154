// HDF5Data: an adapter of data/source/hdf5.h. Only data.cc and image_pairs.cc use data/ as well.
#include "core/base/random.h"
#include "core/net/contract/changing_tops.h"
#include "core/net/contract/grouped_source.h"
#include "core/net/contract/layer.h"
#include "core/net/contract/sample_source.h"
#include "data/source/hdf5.h"
#include "layers/source/opened_source.h"
#include "layers/source/source_layer.h"

namespace doppio {
namespace {

using RowsForm = SourceForm<Hdf5Rows>;

// Opens the layer's HDF5 files. Throws FileError or UserError.
std::unique_ptr<Hdf5Rows> OpenRows(const LayerSpec& spec) {
  const HDF5DataParameter& param = spec.param.hdf5_data_param();
  Hdf5Options options;
  options.batch = static_cast<int>(param.batch_size());
  options.shuffle = param.shuffle();
  options.seed = spec.options.seed;
  options.stream = Stream("data", spec.name());
  const std::vector<std::string> tops(spec.param.top().begin(), spec.param.top().end());
  return AtField(spec, "hdf5_data_param.source",
                 [&] { return std::make_unique<Hdf5Rows>(param.source(), tops, options); });
}

// Returns the shape of a layer whose files are missing with `error`: tops with samples of the shape
// `usual`, except that a top whose name contains "label" has one number for each sample.
LayerShape UsualRows(const LayerSpec& spec, const Shape& usual, const Error& error) {
  const int64_t batch = spec.param.hdf5_data_param().batch_size();
  std::vector<Shape> tops;
  for (const std::string& top : spec.param.top()) {
    const bool label = top.find("label") != std::string::npos;
    tops.push_back(label ? Shape{batch} : Shape{batch, usual[0], usual[1], usual[2]});
  }
  LayerShape shape = ShapeOfSource(spec, std::move(tops));
  shape.form = RowsForm();
  shape.guessed = true;
  shape.missing =
      FileError(error.at(), error.message(), "; its samples are assumed to be ", usual.ToString());
  return shape;
}

// Returns the shape of `rows` rows of the shape `row`.
Shape WithRows(int64_t rows, const Shape& row) {
  std::vector<int64_t> dims = row.dims();
  dims.insert(dims.begin(), rows);
  return Shape(std::move(dims));
}

LayerShape InferRows(const LayerSpec& spec, const std::vector<Shape>&) {
  const HDF5DataParameter& param = spec.param.hdf5_data_param();
  spec.RefuseIf(param.batch_size() < 1, "hdf5_data_param.batch_size",
                "batch_size must be at least 1");
  spec.RefuseIf(!param.has_source(), "hdf5_data_param", "needs a source, a list of HDF5 files");
  RowsForm form;
  const RowsForm* const running = RunningForm<RowsForm>(spec);
  try {
    if (running != nullptr) {
      form = *running;
    } else {
      form.opened = std::make_shared<OpenedSource<Hdf5Rows>>([spec] { return OpenRows(spec); });
      form.any_size = form.opened->source()->files().shapes_vary();
      form.samples = form.opened->source()->samples();
    }
  } catch (const Error& e) {
    if (e.code() != ExitCode::kFile || !spec.options.usual_sample) throw;
    return UsualRows(spec, *spec.options.usual_sample, e);
  }
  std::vector<Shape> tops;
  for (size_t i = 0; i < static_cast<size_t>(spec.param.top_size()); ++i)
    tops.push_back(WithRows(param.batch_size(), form.opened->source()->current()[i].shape));
  LayerShape shape = ShapeOfSource(spec, std::move(tops));
  shape.samples = form.samples;
  shape.features = FeaturesOfSizes(spec, form.any_size, Feature::kChangingTops);
  if (!ReadsSource(spec)) form.opened = nullptr;
  shape.form = std::move(form);
  return shape;
}

// Reads rows into tops in host memory.
template <class T>
class RowsKernel : public Kernel,
                   public SampleSource,
                   public GroupedSource,
                   public ChangesTops,
                   public SharesForm {
 public:
  explicit RowsKernel(const KernelArgs& args)
      : form_(args.Form<RowsForm>()), rows_(form_.opened->Take()) {}

  void Forward(const Pass& pass) override {
    if (!pass.again) rows_->cursor().Shard(pass.rank, pass.ranks);
    const std::vector<Hdf5Rows::Rows>& batch = pass.again ? rows_->current() : rows_->Next();
    changed_ = false;
    for (size_t i = 0; i < batch.size(); ++i) {
      const Shape& planned = t_.tops[i].shape;
      changed_ = changed_ || WithRows(planned[0], batch[i].shape) != planned;
    }
    for (size_t i = 0; !changed_ && i < batch.size(); ++i)
      CopyTo<T>(t_.tops[i], batch[i].values.data());
  }
  int64_t position() const override { return rows_->cursor().position(); }
  void Seek(int64_t sample) override { rows_->cursor().Seek(sample); }
  int64_t source_size() const override { return form_.samples->count; }
  void Join(const GroupRule& rule) override { rows_->Join(rule); }
  std::string NameOfSample(int64_t sample) const override { return rows_->NameOf(sample); }

  bool may_change() const override { return form_.any_size; }
  bool changed() const override { return changed_; }
  std::any NextForm(bool) override { return FormAgain(form_, rows_); }

 private:
  const RowsForm form_;
  const std::shared_ptr<Hdf5Rows> rows_;
  bool changed_ = false;
};

DOPPIO_REGISTER_LAYER("HDF5Data", LayerType(&InferRows)
                                      .Bottoms(0)
                                      .Tops(1, kAny)
                                      .StartsOver()
                                      .Refuses({"transform_param"})
                                      .BatchFields({"hdf5_data_param.batch_size"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel("HDF5Data", &MakeSource<RowsForm, RowsKernel>));
DOPPIO_REGISTER_KERNEL(AcceleratorKernel("HDF5Data", &MakeSyntheticThere)
                           .Declines(&DeclinesHostRows<RowsForm>)
                           .Narrow());

}  // namespace
}  // namespace doppio
