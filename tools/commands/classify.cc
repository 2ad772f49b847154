// `classify`: prints the classes that a trained net assigns to images.
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/net/contract/layer.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/graph/find_blob.h"
#include "core/net/run/net.h"
#include "core/net/spec/solver_spec.h"
#include "data/augment/net_input.h"
#include "data/source/class_names.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/classify/answer_output.h"
#include "tools/cli/training_folder.h"
#include "tools/cli/word_list.h"
#include "tools/data/image_files.h"
#include "tools/data/image_input.h"
#include "tools/data/in_order.h"
#include "tools/nets/devices.h"
#include "tools/nets/lint.h"
#include "tools/nets/nets.h"
#include "tools/nets/object_net.h"
#include "tools/nets/preparation.h"

namespace doppio {
namespace {

constexpr int64_t kBatch = 16;
constexpr size_t kSearchedAtOnce = 1000;  // images whose paths are held at a time

// The model and the images to classify, from the flags or from the five arguments of Caffe's
// program.
struct Job {
  NetAndImages net;
  std::string mean, labels;
  bool as_caffe = false;  // print results in Caffe's format
};

Job JobOf(const CommandLine& line) {
  const std::vector<std::string>& files = line.files;
  if (const std::optional<NetAndImages> named = NetAndImagesOf(line))
    return {*named, line.flags.mean, line.flags.labels, false};
  const bool no_flags = !line.Given("model") && !line.Given("weights");
  if (no_flags && files.size() == 5)
    return {{files[0], files[1], {files[4]}}, files[2], files[3], true};
  throw UsageError(
      "'classify' needs images and either --model and --weights or a folder made by 'doppio init'\n"
      "try: doppio classify --help");
}

ImageWishes WishesOf(const CommandLine& line, const Job& job) {
  ImageWishes wishes = WishesFromFlags(line, job.mean);
  wishes.resize = line.flags.resize;
  return wishes;
}

std::string Extent(const BlobShape& shape) {
  return Shape(std::vector<int64_t>(shape.dim().begin(), shape.dim().end())).ToString();
}

// Finds the Input layer, sets its first dimension to `batch`, stores the shape of an image in
// `*shape`, and returns the name of the layer's top. Throws UserError unless the net has exactly
// one input that can hold images.
std::string SetBatch(NetSpec* net, int64_t batch, ImageShape* shape) {
  LayerSpec* found = nullptr;
  for (LayerSpec& layer : net->layers) {
    if (!TakesInput(layer.type())) continue;
    if (found != nullptr || layer.param.top_size() != 1) {
      throw layer.Mistake("",
                          "is a second input of the net; classify supports nets with one input, " +
                              std::string("and 'doppio detect' those with im_info"));
    }
    found = &layer;
  }
  if (found == nullptr) {
    throw UserError(net->at,
                    "the net has no Input layer; classify needs a deploy net, without data layers");
  }
  InputParameter* input = found->param.mutable_input_param();
  BlobShape* dims = input->shape_size() > 0 ? input->mutable_shape(0) : input->add_shape();
  if (dims->dim_size() != 4 || (dims->dim(1) != 1 && dims->dim(1) != 3)) {
    throw found->Mistake("input_param", "is " + Extent(*dims) +
                                            "; images need 1 or 3 channels, a height and a width");
  }
  const auto small = [&](int axis) {
    if (dims->dim(axis) >= 1 && dims->dim(axis) <= 65535) return static_cast<int>(dims->dim(axis));
    throw found->Mistake("input_param",
                         "is " + Extent(*dims) + ": too large or too small for images");
  };
  *shape = {small(1), small(2), small(3)};
  dims->set_dim(0, batch);
  return found->param.top(0);
}

std::string OutputOf(const std::string& blob, const Graph& graph) {
  if (!blob.empty()) return FindBlob(graph, blob).name;
  std::vector<std::string> names;
  for (const int edge : graph.outputs) names.push_back(graph.edges[edge].name);
  if (names.size() == 1) return names[0];
  throw UsageError("the net has " + std::to_string(names.size()) + " outputs (" +
                   Join(names, ", ") + "); name one with --blob");
}

// Refuses detections, whose numbers would be ranked as values of classes.
void RefuseDetections(const Graph& graph, const std::string& blob) {
  const int edge = graph.FindEdge(blob);
  for (const int output : blob.empty() ? graph.outputs : std::vector<int>{edge}) {
    const LayerSpec& layer = graph.layer(graph.edges[output].producer);
    layer.RefuseIf(MakesDetections(layer.type()), "", "its top '", graph.edges[output].name,
                   "' is a list of objects with boxes; 'doppio detect' shows them");
  }
}

struct ReadImage {
  std::vector<float> values;
  std::string mistake;  // why the image could not be read; "" if it was
};

class Classifier {
 public:
  // `images` is the number of images, if it is less than a batch.
  Classifier(const CommandLine& line, const Job& job, int64_t images)
      : flags_(line.flags),
        device_(OpenDevice(line.flags)),
        params_(device_.get(), DType::kFloat32, 1),
        batch_(flags_.batch > 0 ? flags_.batch : std::min(images, kBatch)) {
    const NetSource source = LoadNet(line.flags, job.net.model, TEST);
    LogWarnings(source.warnings);
    NetSpec spec = MakeNetSpec(source.net, source.places, source.state,
                               MakeNetOptions(flags_, flags_.precision, TEST, DataMode::kOpen));
    ImageShape input;
    input_ = SetBatch(&spec, batch_, &input);
    values_.resize(batch_ * input.count());

    Graph graph = MakeGraph(std::move(spec));
    RefuseDetections(graph, flags_.blob);
    output_ = OutputOf(flags_.blob, graph);
    FindClasses(graph.edges[graph.FindEdge(output_)].shape, job.labels);
    PlanOptions plan = MakePlanOptions(flags_, device_.get());
    plan.keep_all = true;
    net_ = std::make_unique<Net>(std::move(graph), plan, &params_);
    const KnownPreprocessing known =
        KnownFromFlags(line, !job.mean.empty(), LoadWeightFiles(job.net.weights, net_.get()),
                       net_->graph().preprocessing, job.net.model);
    reader_ = std::make_unique<NetInput>(PrepareImages(known, WishesOf(line, job), input), input,
                                         flags_.center_crop);
    // The class names of the training, if --labels is not given and the net still has as many.
    if (job.labels.empty() && known.images.class_name_size() == classes())
      labels_.assign(known.images.class_name().begin(), known.images.class_name().end());
  }

  // Calls `take` with the answer for each of `images` and of `more`, in their order. Images that
  // cannot be read, or have no finite values, are left out and added to `mistakes`.
  void Run(std::vector<std::string> images, ImageFiles* more,
           const std::function<void(const Answer&)>& take, ImageMistakes* mistakes) {
    for (; !images.empty(); images = more->Take(kSearchedAtOnce)) {
      InOrder(
          static_cast<int64_t>(images.size()), ThreadsOr(flags_.data_threads),
          [&](int64_t i) { return Read(images[i]); },
          [&](int64_t i, const ReadImage& image) {
            if (!image.mistake.empty()) return mistakes->AddImage(images[i], image.mistake);
            std::copy(
                image.values.begin(), image.values.end(),
                values_.begin() + static_cast<int64_t>(waiting_.size() * image.values.size()));
            waiting_.push_back(images[i]);
            if (static_cast<int64_t>(waiting_.size()) == batch_) Forward(take, mistakes);
          });
    }
    if (!waiting_.empty()) Forward(take, mistakes);
  }

  const std::string& net_name() const { return net_->graph().spec.name; }
  const std::string& output() const { return output_; }
  // Returns the names of all classes, "" for a class without one.
  const std::vector<std::string>& labels() const { return labels_; }

 private:
  int classes() const { return static_cast<int>(labels_.size()); }

  void FindClasses(const Shape& shape, const std::string& labels) {
    if (shape.rank() == 0 || shape[0] != batch_) {
      throw UsageError("blob '" + output_ + "' is " + shape.ToString() +
                       ", which has no row for each of the " + std::to_string(batch_) + " images");
    }
    labels_.resize(shape.count(1));
    if (labels.empty()) return;
    const int classes = this->classes();
    labels_ = ReadLabels(labels);
    if (this->classes() != classes) {
      throw FileError("'" + labels + "' has " + std::to_string(labels_.size()) +
                      " labels, but blob '" + output_ + "' has " + std::to_string(classes) +
                      " values for each image");
    }
  }

  ReadImage Read(const std::string& path) const {
    ReadImage image;
    try {
      image.values = reader_->Read(ReadFile(path));
    } catch (const FileError& e) {
      image.mistake = e.message();
    }
    return image;
  }

  // Classifies the waiting images. If the batch is not full, its remaining rows hold old images,
  // and their results are ignored.
  void Forward(const std::function<void(const Answer&)>& take, ImageMistakes* mistakes) {
    WriteTensor(values_, net_->Blob(input_), device_.get());
    net_->Forward();
    const PlainBlob result = ReadTensor(net_->Blob(output_), device_.get());
    if (result.shape.count() != batch_ * classes()) {
      throw UsageError("blob '" + output_ + "' changed its shape to " + result.shape.ToString() +
                       ", which has no row for each of the " + std::to_string(batch_) + " images");
    }
    const float* values = result.data.data();
    for (const std::string& image : waiting_) {
      if (std::all_of(values, values + classes(), [](float v) { return std::isfinite(v); })) {
        take(AnswerOf(image, values));
      } else {
        mistakes->Add(Error(ExitCode::kNonFinite,
                            "image '" + image + "': its values in blob '" + output_ +
                                "' are not finite; 'doppio weights ls' shows weights that are "
                                "not, and 16 bits (--precision) may be too few"));
      }
      values += classes();
    }
    waiting_.clear();
  }

  Answer AnswerOf(const std::string& image, const float* values) const {
    Answer answer{image, {}, false};
    for (const int number : TopClasses(values, classes(), flags_.top))
      answer.classes.push_back({number, labels_[number], values[number]});
    answer.unsure = answer.classes[0].value < flags_.unsure_below;
    return answer;
  }

  const Flags& flags_;
  const std::unique_ptr<Device> device_;
  ParamStore params_;
  const int64_t batch_;
  std::unique_ptr<Net> net_;
  std::unique_ptr<NetInput> reader_;
  std::string input_, output_;
  std::vector<std::string> labels_;   // of all classes
  std::vector<float> values_;         // the pixels of a batch
  std::vector<std::string> waiting_;  // paths of the images in the batch so far
};

ExitCode RunClassify(const CommandLine& line, bool* began) {
  const Flags& flags = line.flags;
  AtLeast("top", flags.top, 1);
  NotNegative("unsure_below", flags.unsure_below);
  CheckValue("sort_by", flags.sort_by, {"copy", "link"});
  CheckResultForms(flags);
  const Job job = JobOf(line);
  ImageMistakes mistakes;
  ImageFiles files(job.net.images, flags.sort_into, &mistakes);
  std::vector<std::string> images = files.Take(kSearchedAtOnce);
  if (images.empty()) mistakes.ThrowIfAny();
  Classifier classifier(line, job, static_cast<int64_t>(images.size()));
  *began = true;
  AnswerOutput output(flags, job.as_caffe,
                      {{"net", classifier.net_name()}, {"blob", classifier.output()}},
                      classifier.labels());
  classifier.Run(
      std::move(images), &files, [&](const Answer& answer) { output.Take(answer); }, &mistakes);
  output.End(mistakes.count());
  mistakes.ThrowIfAny();
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "classify",
    {"classifies images with a trained net",
     Words("model weights like labels rgb channel_swap mean scale resize center_crop top "
           "unsure_below sort_into sort_by blob batch gpu precision workspace_mb deterministic "
           "cuda_graph level stage set "
           "unset threads data_threads max_pixels engine json jsonl csv"),
     {},
     "[TRAINED] IMAGE|FOLDER... (or as in Caffe: NET WEIGHTS MEAN LABELS IMAGE)",
     "doppio classify --model=deploy.prototxt --weights=net.caffemodel photos/\n"
     "  doppio classify photos_doppio photos/ --csv=classes.csv --sort_into=sorted",
     &RunClassify,
     {"classification", "classification.bin"}});

}  // namespace
}  // namespace doppio
