#include "tools/commands/data/augmented_page.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/channel_scale.h"
#include "core/base/file.h"
#include "core/net/contract/sample_source.h"
#include "core/net/run/net.h"
#include "data/augment/mean_file.h"
#include "data/pipeline/pipeline_options.h"
#include "layers/source/label_form.h"
#include "proto/data.pb.h"
#include "tools/cli/file_kind.h"
#include "tools/cli/text_table.h"
#include "tools/cli/training_folder.h"
#include "tools/commands/data/preview_page.h"
#include "tools/nets/devices.h"
#include "tools/nets/nets.h"

namespace doppio {
namespace {

// Returns the layers of the net for training up to its first source of samples.
NetSpec SpecOfSource(const CommandLine& line) {
  std::string path = line.files[0];
  if (FileExists(path + "/.") && !IsTrainingFolder(path)) {
    throw UsageError(
        "--augmented shows what a net gets: give a folder that 'doppio init' made, a "
        "solver or a net; '",
        path, "' is a folder without a solver.prototxt");
  }
  if (IsTrainingFolder(path)) path = SolverIn(path);
  NetFileOptions file = line.flags;
  NetOptions options;
  options.seed = SeedOr1(line.flags.seed);
  NetSource source;
  if (LooksLikeSolver(ReadFile(path), path)) {
    file.solver = path;
    const SolverSpec solver = LoadSolver(file);
    source = solver.train;
    const bool seeded = line.flags.seed < 0 && solver.param.random_seed() >= 0;
    if (seeded) options.seed = static_cast<uint64_t>(solver.param.random_seed());
  } else {
    source = LoadNet(file, path, TRAIN);
  }
  NetSpec spec = MakeNetSpec(source.net, source.places, source.state, options);
  const auto first = std::find_if(spec.layers.begin(), spec.layers.end(), [](const LayerSpec& one) {
    return one.param.bottom_size() == 0;
  });
  if (first == spec.layers.end()) throw UserError(spec.at, "the net has no source of images");
  spec.layers.resize(static_cast<size_t>(first - spec.layers.begin()) + 1);
  return spec;
}

// Turns the numbers of a batch into pictures.
class Pictures {
 public:
  explicit Pictures(const LayerSpec& layer) : scale_(layer.param.transform_param()) {
    const TransformationParameter& transform = layer.param.transform_param();
    means_.assign(transform.mean_value().begin(), transform.mean_value().end());
    if (!transform.has_mean_file()) return;
    const std::vector<double> means = ReadMeanFile(transform.mean_file()).ChannelMeans();
    means_.assign(means.begin(), means.end());
  }

  Image Of(const float* planes, const ImageShape& shape) const {
    Image image;
    image.shape = shape;
    image.bytes.resize(static_cast<size_t>(shape.count()));
    const int64_t plane = int64_t{shape.height} * shape.width;
    for (int c = 0; c < shape.channels; ++c) {
      const size_t mean = std::min(static_cast<size_t>(c), means_.size() - 1);
      const float scale = scale_.Of(c) == 0 ? 1 : scale_.Of(c);
      for (int64_t i = 0; i < plane; ++i) {
        const float value = planes[c * plane + i] / scale + (means_.empty() ? 0 : means_[mean]);
        image.bytes[i * shape.channels + c] =
            static_cast<uint8_t>(std::lround(std::clamp(value, 0.0F, 255.0F)));
      }
    }
    return image;
  }

 private:
  const ChannelScale scale_;
  std::vector<float> means_;
};

// Adds the objects of image `index` of a batch from a label blob of this form.
void AddObjects(LabelForm form, const Tensor& labels, int64_t index,
                std::vector<ObjectBox>* objects) {
  const auto* row = labels.data<float>();
  const float* const end = row + labels.count();
  const auto add = [objects](float label, const Box& box) {
    ObjectBox object;
    object.label = label;
    object.box = box;
    objects->push_back(object);
  };
  if (form == LabelForm::kObjects) {
    for (; row < end; row += kBoxLabels) {
      if (row[0] == static_cast<float>(index)) add(row[1], {row[3], row[4], row[5], row[6]});
    }
    return;
  }
  const int64_t values = labels.count() / labels.shape[0];
  row += index * values;
  for (int64_t i = 0; i + kCenteredBoxLabels <= values;
       i += kCenteredBoxLabels, row += kCenteredBoxLabels) {
    const float across = row[3] / 2, down = row[4] / 2;
    if (across > 0) add(row[0], {row[1] - across, row[2] - down, row[1] + across, row[2] + down});
  }
}

// Sets the label or the objects of image `index`. Labels of pixels are not shown.
void SetLabels(const std::string& type, const Tensor& labels, int64_t images, int64_t index,
               const std::vector<std::string>& classes, PreviewFigure* figure) {
  const LabelForm form = LabelFormOf(type);
  if (form != LabelForm::kNumbers) return AddObjects(form, labels, index, &figure->objects);
  constexpr int64_t kMostLabels = 16;
  const int64_t count = labels.count() / images;
  if (labels.shape.dim_or_1(0) != images || count > kMostLabels) return;
  const auto* from = labels.data<float>() + index * count;
  figure->label = LabelText({from, from + count}, classes);
}

}  // namespace

std::string AugmentedPage(const CommandLine& line, bool* began) {
  Graph graph = MakeGraph(SpecOfSource(line));
  const int node = static_cast<int>(graph.nodes.size()) - 1;
  const LayerSpec layer = graph.layer(node);
  const Shape shape = graph.edges[graph.nodes[node].tops[0]].shape;
  if (shape.rank() != 4 || (shape[1] != 1 && shape[1] != 3)) {
    throw UserError(layer.At(), "layer '", layer.name(), "' makes ", shape.ToString(),
                    "; images have 4 axes, of which the second is 1 or 3");
  }
  std::vector<std::string> classes;
  if (graph.preprocessing) {
    classes.assign(graph.preprocessing->class_name().begin(),
                   graph.preprocessing->class_name().end());
  }
  const std::unique_ptr<Device> device = OpenDevice(DeviceOptions());
  ParamStore params(device.get(), DType::kFloat32, graph.spec.options.seed);
  PlanOptions options;
  options.device = device.get();
  options.keep_all = true;
  Net net(std::move(graph), options, &params);
  if (SourceOf(net.plan().kernel(node)) == nullptr) {
    throw UserError(layer.At(), "layer '", layer.name(), "' of type ", layer.type(),
                    " reads no images; --augmented needs a net that begins with its data");
  }
  *began = true;
  const Pictures pictures(layer);
  std::string figures;
  for (int64_t shown = 0; shown < line.flags.count;) {
    const int64_t first = SourceOf(net.plan().kernel(node))->position();
    net.Forward();
    // Images of another size get another plan, with other kernels.
    const SampleSource* const source = SourceOf(net.plan().kernel(node));
    const Tensor data = net.Blob(layer.param.top(0));
    const int64_t images = data.shape[0];
    const ImageShape sample = {static_cast<int>(data.shape[1]), static_cast<int>(data.shape[2]),
                               static_cast<int>(data.shape[3])};
    for (int64_t i = 0; i < images && shown < line.flags.count; ++i, ++shown) {
      PreviewFigure figure;
      figure.name = source->NameOfSample(first + i);
      figure.shape = sample;
      figure.url = DataUrl(pictures.Of(data.data<float>() + i * sample.count(), sample));
      if (layer.param.top_size() > 1) {
        SetLabels(layer.type(), net.Blob(layer.param.top(1)), images, i, classes, &figure);
      }
      figures += FigureHtml(figure, classes);
    }
  }
  return PreviewPageHtml(
      line.files[0],
      "The first " + Thousands(line.flags.count) +
          " images that the net gets in training; mean, scale and std are undone",
      figures);
}

}  // namespace doppio
