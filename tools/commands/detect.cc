// `detect`: prints the objects that a trained net finds in images, and draws their boxes.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/file.h"
#include "core/base/log.h"
#include "tools/classify/json_list.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/text_table.h"
#include "tools/cli/training_folder.h"
#include "tools/cli/word_list.h"
#include "tools/data/image_files.h"
#include "tools/data/in_order.h"
#include "tools/detect/class_labels.h"
#include "tools/detect/detect_net.h"
#include "tools/detect/draw_boxes.h"
#include "tools/nets/devices.h"
#include "tools/nets/nets.h"
#include "tools/nets/preparation.h"
#include "tools/runs/csv_field.h"

namespace doppio {
namespace {

constexpr int64_t kDetectBatch = 8;
constexpr size_t kImagesAtOnce = 1000;  // images whose paths are held at a time
constexpr int64_t kMostPixels = 65535;  // of a side

// The objects of an image.
struct Detected {
  std::string file;
  int height = 0, width = 0;
  std::vector<FoundObject> objects;
  std::string copy = "";  // with boxes; "" for none
};

void CheckOptions(const DetectionOptions& options) {
  for (const auto& [name, value] :
       {std::make_pair("threshold", options.threshold), {"nms", options.nms}}) {
    if (value >= 0 && value <= 1) continue;
    throw UsageError(std::string("--") + name + " needs a number from 0 to 1; got " +
                     Significant(value));
  }
  InRange("short_side", options.short_side, 0, kMostPixels);
  InRange("max_side", options.max_side, 1, kMostPixels);
}

// Finds the objects of images with a net.
class ObjectFinder {
 public:
  // `images` is the number of images, if it is less than a batch.
  ObjectFinder(const CommandLine& line, const NetAndImages& job, int64_t images)
      : line_(line),
        device_(OpenDevice(line.flags)),
        net_(LoadNet(line.flags, job.model, TEST),
             MakeNetOptions(line.flags, line.flags.precision, TEST, DataMode::kOpen),
             MakePlanOptions(line.flags, device_.get()),
             line.flags.batch > 0 ? line.flags.batch : std::min(images, kDetectBatch),
             line.flags.blob) {
    const Flags& flags = line.flags;
    KnownPreprocessing known =
        KnownFromFlags(line, !flags.mean.empty(), net_.LoadWeights(job.weights),
                       net_.graph().preprocessing, job.model);
    ImageWishes wishes = WishesFromFlags(line, flags.mean);
    const ImageShape& input = net_.input();
    wishes.resize = std::to_string(input.height) + "x" + std::to_string(input.width);
    const ImageFit fit = FitOf(known.images);
    known.images.set_short_side(static_cast<uint32_t>(fit.short_side));
    known.images.set_max_side(static_cast<uint32_t>(fit.max_side));
    fitter_ = std::make_unique<ImageFitter>(PrepareImages(known, wishes, input), input, fit);
    labels_ =
        flags.labels.empty()
            ? LabelsInOrder({known.images.class_name().begin(), known.images.class_name().end()})
            : ReadClassLabels(flags.labels);
  }

  // Calls `take` with the objects of each of `images` and of `more`, in their order. Images that
  // cannot be read are left out and added to `mistakes`.
  void Run(std::vector<std::string> images, ImageFiles* more,
           const std::function<void(Detected)>& take, ImageMistakes* mistakes) {
    for (; !images.empty(); images = more->Take(kImagesAtOnce)) {
      InOrder(
          static_cast<int64_t>(images.size()), ThreadsOr(line_.flags.data_threads),
          [&](int64_t i) { return fitter_->Read(images[i]); },
          [&](int64_t i, FittedImage image) {
            if (!image.mistake.empty()) return mistakes->AddImage(images[i], image.mistake);
            found_.push_back({images[i], image.height, image.width, {}});
            waiting_.push_back(std::move(image));
            if (static_cast<int64_t>(waiting_.size()) == net_.batch()) FindWaiting(take);
          });
    }
    if (!waiting_.empty()) FindWaiting(take);
  }

  const DetectNet& net() const { return net_; }
  const ClassLabels& labels() const { return labels_; }
  const Preprocessing& preprocessing() const { return fitter_->record(); }

 private:
  // Decides how images are fitted to the net's input and logs the decision.
  ImageFit FitOf(const Preprocessing& known) const {
    ImageFit fit;
    const bool given = line_.Given("short_side");
    if (!net_.has_info()) {
      if (!given) return fit;
      throw UsageError(
          "--short_side is for nets with the input im_info; this net has an input of "
          "fixed size");
    }
    fit.short_side = given ? line_.flags.short_side : static_cast<int>(known.short_side());
    fit.kind = fit.short_side > 0 ? ImageFit::kScale : ImageFit::kPad;
    fit.max_side = line_.Given("max_side") || known.max_side() == 0
                       ? line_.flags.max_side
                       : static_cast<int>(known.max_side());
    if (fit.kind == ImageFit::kScale) {
      LOG(INFO) << "Images keep their proportions; the short side becomes " << fit.short_side
                << " pixels, and the long side at most " << fit.max_side;
    } else {
      LOG(INFO) << "Images keep their proportions and are fitted into the net's input, "
                << net_.input().ToString() << "; --short_side=600 scales as py-faster-rcnn does";
    }
    return fit;
  }

  void FindWaiting(const std::function<void(Detected)>& take) {
    std::vector<std::vector<FoundObject>> objects = net_.Find(waiting_, line_.flags);
    waiting_.clear();
    std::vector<Detected> found = std::move(found_);
    found_.clear();
    for (size_t i = 0; i < objects.size(); ++i) {
      found[i].objects = std::move(objects[i]);
      take(std::move(found[i]));
    }
  }

  const CommandLine& line_;
  const std::unique_ptr<Device> device_;
  DetectNet net_;
  std::unique_ptr<ImageFitter> fitter_;
  ClassLabels labels_;
  std::vector<FittedImage> waiting_;  // images of the batch so far
  std::vector<Detected> found_;       // the same images
};

std::string LabelOf(const ClassLabels& labels, int label) {
  const auto found = labels.find(label);
  return found == labels.end() ? "" : found->second;
}

// Writes the objects of images one after the other.
class ObjectOutput {
 public:
  // `finder` found the objects and must outlive this object.
  ObjectOutput(const CommandLine& line, const ObjectFinder& finder)
      : flags_(line.flags), finder_(finder), labels_(finder.labels()), copies_(line.flags.out) {
    if (flags_.csv) {
      csv_.emplace(flags_.csv);
      csv_->out() << "file,class,label,score,xmin,ymin,xmax,ymax\n";
    }
    const std::string& net = finder.net().graph().spec.name;
    if (flags_.json) json_.emplace(nlohmann::json{{"net", net}}, "images", std::cout);
    if (flags_.out.empty()) return;
    std::error_code failed;
    std::filesystem::create_directories(flags_.out, failed);
    if (failed) throw FileError("cannot make folder '" + flags_.out + "': " + failed.message());
  }

  void Take(Detected image) {
    if (!flags_.out.empty()) {
      image.copy = copies_.Of(image.file);
      WriteWithBoxes(finder_.preprocessing(), image.file, image.objects, labels_, image.copy);
    }
    if (csv_) WriteCsv(image);
    if (json_) json_->Add(JsonOf(image));
    if (flags_.jsonl) std::cout << JsonText(JsonOf(image), -1) << '\n' << std::flush;
    if (!csv_ && !json_ && !flags_.jsonl) AddToTable(image);
    objects_ += static_cast<int64_t>(image.objects.size());
    ++images_;
  }

  void End(int64_t mistakes) {
    PrintTable();
    if (json_) json_->End();
    if (csv_) csv_->Flush();
    LOG(INFO) << objects_ << (objects_ == 1 ? " object" : " objects") << " in " << images_
              << (images_ == 1 ? " image" : " images")
              << (mistakes == 0 ? "" : "; " + std::to_string(mistakes) + " left out");
  }

 private:
  static TextTable EmptyTable() {
    return TextTable({"image", ">class", ">score", ">xmin", ">ymin", ">xmax", ">ymax", "label"});
  }

  void AddToTable(const Detected& image) {
    constexpr int kRowsTogether = 500;
    for (const FoundObject& one : image.objects) {
      std::vector<std::string> cells = {image.file, std::to_string(one.label), Fixed(one.score, 4)};
      for (const double side : one.box) cells.push_back(Fixed(side, 1));
      cells.push_back(LabelOf(labels_, one.label));
      table_.Add(std::move(cells));
      if (++rows_ == kRowsTogether) PrintTable();
    }
  }

  void PrintTable() {
    if (rows_ > 0) table_.Print(std::cout);
    table_ = EmptyTable();
    rows_ = 0;
  }

  void WriteCsv(const Detected& image) {
    for (const FoundObject& one : image.objects) {
      csv_->out() << CsvField(image.file) << ',' << one.label << ','
                  << CsvField(LabelOf(labels_, one.label)) << ',' << Significant(one.score, 9);
      for (const double side : one.box) csv_->out() << ',' << Fixed(side, 2);
      csv_->out() << '\n';
    }
  }

  nlohmann::json JsonOf(const Detected& image) const {
    nlohmann::json objects = nlohmann::json::array();
    for (const FoundObject& one : image.objects) {
      nlohmann::json row = {{"class", one.label}, {"score", one.score}, {"box", one.box}};
      const std::string label = LabelOf(labels_, one.label);
      if (!label.empty()) row["label"] = label;
      objects.push_back(row);
    }
    nlohmann::json json = {{"file", image.file},
                           {"height", image.height},
                           {"width", image.width},
                           {"objects", objects}};
    if (!image.copy.empty()) json["copy"] = image.copy;
    return json;
  }

  const Flags& flags_;
  const ObjectFinder& finder_;
  const ClassLabels& labels_;
  CopyPaths copies_;
  std::optional<ResultStream> csv_;
  std::optional<JsonList> json_;
  TextTable table_ = EmptyTable();
  int rows_ = 0;  // in the table
  int64_t objects_ = 0, images_ = 0;
};

NetAndImages DetectJobOf(const CommandLine& line) {
  if (const std::optional<NetAndImages> job = NetAndImagesOf(line)) return *job;
  throw UsageError(
      "'detect' needs images and either --model and --weights or a folder made by 'doppio init'\n"
      "try: doppio detect --help");
}

ExitCode RunDetect(const CommandLine& line, bool* began) {
  const Flags& flags = line.flags;
  CheckOptions(flags);
  CheckResultForms(flags);
  const NetAndImages job = DetectJobOf(line);
  ImageMistakes mistakes;
  ImageFiles files(job.images, flags.out, &mistakes);
  // Reports mistakes of --out before the work begins. The search leaves out its folder.
  for (const std::string& path : job.images) {
    if (!flags.out.empty() && !FileExists(path + "/.")) CopyPaths(flags.out).Of(path);
  }
  std::vector<std::string> images = files.Take(kImagesAtOnce);
  if (images.empty()) mistakes.ThrowIfAny();
  ObjectFinder finder(line, job, static_cast<int64_t>(images.size()));
  ObjectOutput output(line, finder);
  *began = true;
  finder.Run(
      std::move(images), &files, [&](Detected image) { output.Take(std::move(image)); }, &mistakes);
  output.End(mistakes.count());
  mistakes.ThrowIfAny();
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "detect",
    {"finds objects in images with a trained net and draws their boxes",
     Words("model weights threshold nms labels out short_side max_side like rgb channel_swap mean "
           "scale blob batch gpu precision workspace_mb deterministic cuda_graph level stage set "
           "unset threads data_threads max_pixels engine json jsonl csv"),
     {},
     "[TRAINED] IMAGE|FOLDER...",
     "doppio detect --model=deploy.prototxt --weights=ssd.caffemodel --labels=labelmap.prototxt "
     "photos/\n"
     "  doppio detect --model=test.prototxt --weights=faster_rcnn.caffemodel --short_side=600 "
     "--out=boxes photos/",
     &RunDetect});

}  // namespace
}  // namespace doppio
