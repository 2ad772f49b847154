// `detect`: prints the objects that a trained net finds in images, and draws their boxes.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/data/image_input.h"
#include "tools/data/in_order.h"
#include "tools/detect/class_labels.h"
#include "tools/detect/detect_net.h"
#include "tools/detect/draw_boxes.h"
#include "tools/nets/devices.h"
#include "tools/nets/nets.h"
#include "tools/nets/preparation.h"

namespace doppio {
namespace {

constexpr int64_t kDetectBatch = 8;
constexpr int64_t kMostPixels = 65535;  // of a side

// The objects of an image.
struct Detected {
  std::string file;
  int height = 0, width = 0;
  std::vector<FoundObject> objects;
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
  ObjectFinder(const CommandLine& line, std::vector<std::string> images)
      : line_(line),
        images_(std::move(images)),
        device_(OpenDevice(line.flags)),
        net_(LoadNet(line.flags, line.flags.model, TEST),
             MakeNetOptions(line.flags, line.flags.precision, TEST, DataMode::kOpen),
             MakePlanOptions(line.flags, device_.get()), BatchOf(line.flags), line.flags.blob) {
    const Flags& flags = line.flags;
    KnownPreprocessing known =
        KnownFromFlags(line, !flags.mean.empty(), net_.LoadWeights(flags.weights),
                       net_.graph().preprocessing, flags.model);
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

  // Returns the results in the order of the images. Images that cannot be read are left out and
  // reported in `mistakes`.
  std::vector<Detected> Run(ErrorCollector* mistakes) {
    InOrder(
        static_cast<int64_t>(images_.size()), ThreadsOr(line_.flags.data_threads),
        [&](int64_t i) { return fitter_->Read(images_[i]); },
        [&](int64_t i, FittedImage image) {
          if (!image.mistake.empty())
            return mistakes->Add(FileError("image '" + images_[i] + "': " + image.mistake));
          found_.push_back({images_[i], image.height, image.width, {}});
          waiting_.push_back(std::move(image));
          if (static_cast<int64_t>(waiting_.size()) == net_.batch()) FindWaiting();
        });
    if (!waiting_.empty()) FindWaiting();
    return found_;
  }

  const DetectNet& net() const { return net_; }
  const ClassLabels& labels() const { return labels_; }

 private:
  int64_t BatchOf(const NetInputOptions& options) const {
    return options.batch > 0 ? options.batch
                             : std::min(static_cast<int64_t>(images_.size()), kDetectBatch);
  }

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

  // Finds the objects of the waiting images, which are the last ones of found_.
  void FindWaiting() {
    std::vector<std::vector<FoundObject>> objects = net_.Find(waiting_, line_.flags);
    const size_t first = found_.size() - waiting_.size();
    for (size_t i = 0; i < objects.size(); ++i) found_[first + i].objects = std::move(objects[i]);
    waiting_.clear();
  }

  const CommandLine& line_;
  const std::vector<std::string> images_;
  const std::unique_ptr<Device> device_;
  DetectNet net_;
  std::unique_ptr<ImageFitter> fitter_;
  ClassLabels labels_;
  std::vector<FittedImage> waiting_;  // images of the batch so far
  std::vector<Detected> found_;
};

std::string LabelOf(const ClassLabels& labels, int label) {
  const auto found = labels.find(label);
  return found == labels.end() ? "" : found->second;
}

void PrintObjects(const std::vector<Detected>& images, const ClassLabels& labels) {
  TextTable table({"image", ">class", ">score", ">xmin", ">ymin", ">xmax", ">ymax", "label"});
  for (const Detected& image : images) {
    for (const FoundObject& one : image.objects) {
      std::vector<std::string> cells = {image.file, std::to_string(one.label), Fixed(one.score, 4)};
      for (const double side : one.box) cells.push_back(Fixed(side, 1));
      cells.push_back(LabelOf(labels, one.label));
      table.Add(std::move(cells));
    }
  }
  table.Print(std::cout);
}

void PrintObjectsAsJson(const ObjectFinder& finder, const std::vector<Detected>& images,
                        const std::vector<std::string>& copies) {
  nlohmann::json out = {{"net", finder.net().graph().spec.name},
                        {"images", nlohmann::json::array()}};
  for (size_t i = 0; i < images.size(); ++i) {
    nlohmann::json objects = nlohmann::json::array();
    for (const FoundObject& one : images[i].objects) {
      nlohmann::json row = {{"class", one.label}, {"score", one.score}, {"box", one.box}};
      const std::string label = LabelOf(finder.labels(), one.label);
      if (!label.empty()) row["label"] = label;
      objects.push_back(row);
    }
    nlohmann::json image = {{"file", images[i].file},
                            {"height", images[i].height},
                            {"width", images[i].width},
                            {"objects", objects}};
    if (!copies.empty()) image["copy"] = copies[i];
    out["images"].push_back(image);
  }
  std::cout << JsonText(out) << '\n';
}

// Writes the images with boxes to the folder `out` and returns their paths.
std::vector<std::string> WriteCopies(const std::vector<Detected>& images, const ClassLabels& labels,
                                     const std::string& out) {
  std::vector<std::string> files;
  for (const Detected& image : images) files.push_back(image.file);
  std::vector<std::string> copies = DrawnPaths(files, out);
  for (size_t i = 0; i < images.size(); ++i)
    WriteWithBoxes(images[i].file, images[i].objects, labels, copies[i]);
  return copies;
}

ExitCode RunDetect(const CommandLine& line, bool* began) {
  const Flags& flags = line.flags;
  CheckOptions(flags);
  const std::vector<std::string> images = FindImages(line.files);
  const bool draws = !flags.out.empty();
  if (draws) DrawnPaths(images, flags.out);  // reports mistakes before the work begins
  ObjectFinder finder(line, images);
  if (draws) {
    std::error_code failed;
    std::filesystem::create_directories(flags.out, failed);
    if (failed) throw FileError("cannot make folder '" + flags.out + "': " + failed.message());
  }
  *began = true;
  ErrorCollector mistakes;
  const std::vector<Detected> found = finder.Run(&mistakes);
  std::vector<std::string> copies;
  if (draws) copies = WriteCopies(found, finder.labels(), flags.out);
  int64_t objects = 0;
  for (const Detected& image : found) objects += static_cast<int64_t>(image.objects.size());
  LOG(INFO) << objects << (objects == 1 ? " object" : " objects") << " in " << found.size()
            << (found.size() == 1 ? " image" : " images");
  if (flags.json) {
    PrintObjectsAsJson(finder, found, copies);
  } else if (objects > 0) {
    PrintObjects(found, finder.labels());
  }
  mistakes.ThrowIfAny();
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "detect",
    {"finds objects in images with a trained net and draws their boxes",
     Words("model weights threshold nms labels out short_side max_side like rgb channel_swap mean "
           "scale blob batch gpu precision workspace_mb deterministic cuda_graph level stage set "
           "unset threads data_threads max_pixels engine json"),
     {"model", "weights"},
     "IMAGE|FOLDER...",
     "doppio detect --model=deploy.prototxt --weights=ssd.caffemodel --labels=labelmap.prototxt "
     "photos/\n"
     "  doppio detect --model=test.prototxt --weights=faster_rcnn.caffemodel --short_side=600 "
     "--out=boxes photos/",
     &RunDetect});

}  // namespace
}  // namespace doppio
