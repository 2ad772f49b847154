#include "data/annotation/annotated_files.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/content_kind.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "data/annotation/coco.h"
#include "data/annotation/voc.h"
#include "data/decode/mat_image.h"
#include "data/pipeline/read_into.h"
#include "proto/detection.pb.h"

namespace doppio {
namespace {

// The classes of PASCAL VOC, in the order of py-faster-rcnn.
const char* const kVocClasses[] = {"aeroplane",   "bicycle", "bird",  "boat",      "bottle",
                                   "bus",         "car",     "cat",   "chair",     "cow",
                                   "diningtable", "dog",     "horse", "motorbike", "person",
                                   "pottedplant", "sheep",   "sofa",  "train",     "tvmonitor"};

class AnnotatedFiles : public Source {
 public:
  AnnotatedFiles(const RoiDataParameter& parameter, bool empty_ones)
      : names_(parameter.class_name().begin(), parameter.class_name().end()) {
    colour_.set_force_color(true);
    if (parameter.format() == RoiDataParameter::COCO) {
      const std::string text = ReadFile(parameter.source());
      CheckIsText(parameter.source(), text, "a file of COCO's annotations (JSON)");
      CocoAnnotations read = ParseCoco(text, parameter.source(), parameter.root_folder());
      images_ = std::move(read.images);
      if (names_.empty()) names_ = std::move(read.class_names);
    } else {
      images_ = ReadVocList(parameter.source(), parameter.root_folder());
      if (names_.empty()) names_.assign(std::begin(kVocClasses), std::end(kVocClasses));
    }
    for (const std::string& name : names_) {
      const int label = static_cast<int>(labels_.size()) + 1;
      if (!labels_.emplace(name, label).second)
        throw UserError({}, "roi_data_param: class_name has '" + name + "' twice");
    }
    KeepKnownObjects();
    if (!empty_ones) DropEmptyImages();
    if (images_.empty()) {
      throw FileError("no image in '" + parameter.source() + "' has an object of the classes");
    }
  }

  int64_t size() const override { return static_cast<int64_t>(images_.size()); }
  bool decodes() const override { return true; }
  std::string Name(int64_t index) const override {
    const ImageAnnotation& image = images_[index];
    return "image '" + image.image + "' (" + image.at.ToString() + ")";
  }

  void Read(int64_t index, Record* record) const override {
    const ImageAnnotation& annotation = images_[index];
    record->decode = DecodeOptions();
    record->encoded_bytes = ReadInto(annotation.image, &record->byte_storage);
    record->encoded = reinterpret_cast<const uint8_t*>(record->byte_storage.data());
    const Image image = ImageOfRecord(*record, colour_);
    const ImageShape& shape = image.shape;
    const bool sized = annotation.height > 0 && annotation.width > 0;
    if (sized && (shape.height != annotation.height || shape.width != annotation.width)) {
      throw FileError("it has " + std::to_string(shape.height) + "x" + std::to_string(shape.width) +
                      " pixels, but its annotation is for " + std::to_string(annotation.height) +
                      "x" + std::to_string(annotation.width));
    }
    SetImage(image, record);
    record->labels.clear();
    record->annotated = true;
    record->objects.clear();
    for (const AnnotatedObject& object : annotation.objects) TakeObject(object, shape, record);
  }

  SourceFacts facts() const override {
    SourceFacts facts;
    facts.channels = Preprocessing::BGR;
    facts.one_size = false;
    facts.image.channels = 3;
    facts.class_names = {"background"};
    facts.class_names.insert(facts.class_names.end(), names_.begin(), names_.end());
    return facts;
  }

 private:
  // Leaves out the objects of other classes and logs their names.
  void KeepKnownObjects() {
    std::set<std::string> others;
    int64_t left_out = 0;
    for (ImageAnnotation& image : images_) {
      const auto unknown = [&](const AnnotatedObject& object) {
        if (labels_.count(object.name) > 0) return false;
        others.insert(object.name);
        ++left_out;
        return true;
      };
      std::vector<AnnotatedObject>& objects = image.objects;
      objects.erase(std::remove_if(objects.begin(), objects.end(), unknown), objects.end());
    }
    if (left_out == 0) return;
    constexpr size_t kNamed = 5;
    std::string list;
    for (auto name = others.begin(); name != others.end(); ++name) {
      const size_t before = static_cast<size_t>(std::distance(others.begin(), name));
      if (before == kNamed) {
        list += ", ...";
        break;
      }
      list += (before == 0 ? "" : ", ") + *name;
    }
    LOG(WARNING) << left_out << " objects of other classes than class_name are left out: " << list;
  }

  void DropEmptyImages() {
    const auto empty = [](const ImageAnnotation& image) {
      return std::all_of(image.objects.begin(), image.objects.end(),
                         [](const AnnotatedObject& object) { return object.difficult; });
    };
    const size_t all = images_.size();
    images_.erase(std::remove_if(images_.begin(), images_.end(), empty), images_.end());
    if (images_.size() == all) return;
    LOG(INFO) << all - images_.size() << " of " << all
              << " images have no objects and are left out";
  }

  // Adds an object in fractions of the image, whose right and lower edges lie behind its pixels.
  void TakeObject(const AnnotatedObject& object, const ImageShape& shape, Record* record) const {
    const double left = std::max(0.0, object.left), top = std::max(0.0, object.top);
    const double right = std::min(shape.width - 1.0, object.right);
    const double bottom = std::min(shape.height - 1.0, object.bottom);
    if (right < left || bottom < top) return;
    ObjectBox box;
    box.box = {static_cast<float>(left / shape.width), static_cast<float>(top / shape.height),
               static_cast<float>((right + 1) / shape.width),
               static_cast<float>((bottom + 1) / shape.height)};
    box.label = static_cast<float>(labels_.at(object.name));
    box.instance = static_cast<float>(record->objects.size());
    box.difficult = object.difficult;
    record->objects.push_back(box);
  }

  std::vector<std::string> names_;
  std::map<std::string, int> labels_;
  std::vector<ImageAnnotation> images_;
  TransformationParameter colour_;
};

}  // namespace

std::unique_ptr<Source> OpenAnnotatedFiles(const RoiDataParameter& parameter, bool empty_ones) {
  if (parameter.source().empty()) {
    throw UserError({},
                    "needs source: a list of 'image annotation.xml' lines, or with format: COCO a "
                    "JSON file; or data_param with the backend of annotated records");
  }
  return std::make_unique<AnnotatedFiles>(parameter, empty_ones);
}

}  // namespace doppio
