// `classify`: prints the classes that a trained net assigns to images.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

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
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/cli/training_folder.h"
#include "tools/cli/word_list.h"
#include "tools/data/image_input.h"
#include "tools/data/in_order.h"
#include "tools/nets/devices.h"
#include "tools/nets/lint.h"
#include "tools/nets/nets.h"
#include "tools/nets/preparation.h"

namespace doppio {
namespace {

constexpr int64_t kBatch = 16;

// The images to classify and the model, from the flags or from the five arguments of Caffe's
// program.
struct Job {
  std::string model, weights, mean, labels;
  std::vector<std::string> images;
  bool as_caffe = false;  // also print results in Caffe's format
};

Job JobOf(const CommandLine& line) {
  const std::vector<std::string>& files = line.files;
  const Flags& flags = line.flags;
  if (line.Given("model") && line.Given("weights"))
    return {flags.model, flags.weights, flags.mean, flags.labels, FindImages(files), false};
  const bool no_flags = !line.Given("model") && !line.Given("weights");
  if (no_flags && files.size() > 1 && IsTrainingFolder(files[0])) {
    const auto [model, weights] = TrainedNetIn(files[0]);
    LOG(INFO) << "Weights: " << weights;
    return {model, weights, flags.mean, flags.labels, FindImages({files.begin() + 1, files.end()}),
            false};
  }
  if (no_flags && files.size() == 5)
    return {files[0], files[1], files[2], files[3], {files[4]}, true};
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
                          "is a second input of the net; classify supports nets with one input");
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

struct Class {
  int number = 0;
  std::string label;
  float value = 0;
};
struct Answer {
  std::string image;
  std::vector<Class> classes;
};

struct ReadImage {
  std::vector<float> values;
  std::string mistake;  // why the image could not be read; "" if it was
};

class Classifier {
 public:
  Classifier(const CommandLine& line, const Job& job)
      : flags_(line.flags),
        job_(job),
        device_(OpenDevice(line.flags)),
        params_(device_.get(), DType::kFloat32, 1) {
    const int64_t images = static_cast<int64_t>(job.images.size());
    batch_ = flags_.batch > 0 ? flags_.batch : std::min(images, kBatch);
    const NetSource source = LoadNet(line.flags, job.model, TEST);
    LogWarnings(source.warnings);
    NetSpec spec = MakeNetSpec(source.net, source.places, source.state,
                               MakeNetOptions(flags_, flags_.precision, TEST, DataMode::kOpen));
    ImageShape input;
    input_ = SetBatch(&spec, batch_, &input);
    values_.resize(batch_ * input.count());

    Graph graph = MakeGraph(std::move(spec));
    output_ = OutputOf(flags_.blob, graph);
    FindClasses(graph.edges[graph.FindEdge(output_)].shape);
    PlanOptions plan = MakePlanOptions(flags_, device_.get());
    plan.keep_all = true;
    net_ = std::make_unique<Net>(std::move(graph), plan, &params_);
    const KnownPreprocessing known =
        KnownFromFlags(line, !job.mean.empty(), LoadWeightFiles(job.weights, net_.get()),
                       net_->graph().preprocessing, job.model);
    reader_ = std::make_unique<NetInput>(PrepareImages(known, WishesOf(line, job), input), input,
                                         flags_.center_crop);
    TakeClassNames(known.images);
  }

  // Returns the results in the order of the images. Images that cannot be read are left out and
  // reported in `mistakes`.
  std::vector<Answer> Run(ErrorCollector* mistakes) {
    InOrder(
        static_cast<int64_t>(job_.images.size()), ThreadsOr(flags_.data_threads),
        [&](int64_t i) { return Read(job_.images[i]); },
        [&](int64_t i, const ReadImage& image) {
          const std::string& path = job_.images[i];
          if (!image.mistake.empty())
            return mistakes->Add(FileError("image '" + path + "': " + image.mistake));
          std::copy(image.values.begin(), image.values.end(),
                    values_.begin() + static_cast<int64_t>(waiting_.size() * image.values.size()));
          waiting_.push_back(path);
          if (static_cast<int64_t>(waiting_.size()) == batch_) Forward();
        });
    if (!waiting_.empty()) Forward();
    return answers_;
  }

  const std::string& net_name() const { return net_->graph().spec.name; }
  const std::string& output() const { return output_; }

 private:
  void FindClasses(const Shape& shape) {
    if (shape.rank() == 0 || shape[0] != batch_) {
      throw UsageError("blob '" + output_ + "' is " + shape.ToString() +
                       ", which has no row for each of the " + std::to_string(batch_) + " images");
    }
    classes_ = static_cast<int>(shape.count(1));
    if (job_.labels.empty()) return;
    labels_ = ReadLabels(job_.labels);
    if (static_cast<int>(labels_.size()) != classes_) {
      throw FileError("'" + job_.labels + "' has " + std::to_string(labels_.size()) +
                      " labels, but blob '" + output_ + "' has " + std::to_string(classes_) +
                      " values for each image");
    }
  }

  // Uses the class names of the training if --labels is not given and the net still has as many
  // classes.
  void TakeClassNames(const Preprocessing& images) {
    if (!job_.labels.empty() || images.class_name_size() != classes_) return;
    labels_.assign(images.class_name().begin(), images.class_name().end());
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
  void Forward() {
    WriteTensor(values_, net_->Blob(input_), device_.get());
    net_->Forward();
    const PlainBlob result = ReadTensor(net_->Blob(output_), device_.get());
    if (result.shape.count() != batch_ * classes_) {
      throw UsageError("blob '" + output_ + "' changed its shape to " + result.shape.ToString() +
                       ", which has no row for each of the " + std::to_string(batch_) + " images");
    }
    for (size_t row = 0; row < waiting_.size(); ++row) {
      const float* values = result.data.data() + row * static_cast<size_t>(classes_);
      Answer answer{waiting_[row], {}};
      for (const int number : TopClasses(values, classes_, flags_.top)) {
        answer.classes.push_back({number, labels_.empty() ? "" : labels_[number], values[number]});
      }
      answers_.push_back(std::move(answer));
    }
    waiting_.clear();
  }

  const Flags& flags_;
  const Job job_;
  const std::unique_ptr<Device> device_;
  ParamStore params_;
  std::unique_ptr<Net> net_;
  std::unique_ptr<NetInput> reader_;
  std::string input_, output_;
  int64_t batch_ = 1;
  int classes_ = 0;
  std::vector<std::string> labels_;
  std::vector<float> values_;         // the pixels of a batch
  std::vector<std::string> waiting_;  // paths of the images in the batch so far
  std::vector<Answer> answers_;
};

void PrintTable(const std::vector<Answer>& answers) {
  TextTable table({"image", ">value", ">class", "label"});
  for (const Answer& answer : answers) {
    std::string image = answer.image;
    for (const Class& one : answer.classes) {
      table.Add({image, Fixed(one.value, 4), std::to_string(one.number), one.label});
      image.clear();
    }
  }
  table.Print(std::cout);
}

// Prints the format of Caffe's example program, which scripts parse.
void PrintAsCaffe(const std::vector<Answer>& answers) {
  for (const Answer& answer : answers) {
    std::cout << "---------- Prediction for " << answer.image << " ----------\n";
    for (const Class& one : answer.classes) {
      std::cout << Fixed(one.value, 4) << " - \"" << one.label << "\"\n";
    }
  }
}

void PrintJson(const Classifier& classifier, const std::vector<Answer>& answers) {
  nlohmann::json out = {{"net", classifier.net_name()},
                        {"blob", classifier.output()},
                        {"images", nlohmann::json::array()}};
  for (const Answer& answer : answers) {
    nlohmann::json classes = nlohmann::json::array();
    for (const Class& one : answer.classes) {
      nlohmann::json row = {{"class", one.number}, {"value", one.value}};
      if (!one.label.empty()) row["label"] = one.label;
      classes.push_back(row);
    }
    out["images"].push_back({{"file", answer.image}, {"classes", classes}});
  }
  std::cout << JsonText(out) << '\n';
}

ExitCode RunClassify(const CommandLine& line, bool* began) {
  AtLeast("top", line.flags.top, 1);
  const Job job = JobOf(line);
  Classifier classifier(line, job);
  *began = true;
  ErrorCollector mistakes;
  const std::vector<Answer> answers = classifier.Run(&mistakes);
  if (line.flags.json) {
    PrintJson(classifier, answers);
  } else if (job.as_caffe) {
    PrintAsCaffe(answers);
  } else if (!answers.empty()) {
    PrintTable(answers);
  }
  mistakes.ThrowIfAny();
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "classify",
    {"classifies images with a trained net",
     Words("model weights like labels rgb channel_swap mean scale resize center_crop top "
           "blob batch gpu precision workspace_mb deterministic cuda_graph level stage set "
           "unset threads data_threads max_pixels engine json"),
     {},
     "[TRAINED] IMAGE|FOLDER... (or as in Caffe: NET WEIGHTS MEAN LABELS IMAGE)",
     "doppio classify --model=deploy.prototxt --weights=net.caffemodel photos/\n"
     "  doppio classify photos_doppio cat.jpg",
     &RunClassify,
     {"classification", "classification.bin"}});

}  // namespace
}  // namespace doppio
