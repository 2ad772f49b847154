#include "data/annotation/annotated_files.h"

#include <algorithm>
#include <climits>
#include <map>
#include <set>
#include <utility>

#include "core/base/content/text_file.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "data/annotation/coco.h"
#include "data/annotation/voc.h"
#include "data/decode/exif.h"
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
  AnnotatedFiles(const RoiDataParameter& parameter, bool empty_ones, const DecodeOptions& decoding)
      : names_(parameter.class_name().begin(), parameter.class_name().end()), decoding_(decoding) {
    colour_.set_force_color(true);
    if (parameter.format() == RoiDataParameter::COCO) {
      CocoAnnotations read =
          ParseCoco(ReadTextFile(parameter.source(), "a file of COCO's annotations (JSON)"),
                    parameter.source(), parameter.root_folder());
      images_ = std::move(read.images);
      if (names_.empty()) names_ = std::move(read.class_names);
    } else {
      images_ = ReadVocList(parameter.source(), parameter.root_folder());
      if (names_.empty()) names_.assign(std::begin(kVocClasses), std::end(kVocClasses));
    }
    for (const std::string& name : names_) {
      const int label = static_cast<int>(labels_.size()) + 1;
      RefuseIf(!labels_.emplace(name, label).second, "roi_data_param: class_name has '", name,
               "' twice");
    }
    KeepKnownObjects();
    DropBadBoxes();
    if (!empty_ones) DropEmptyImages();
    if (images_.empty()) {
      throw FileError("no image in '", parameter.source(), "' has an object of the classes");
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
    record->decode = decoding_;
    record->encoded_bytes = ReadInto(annotation.image, &record->byte_storage);
    record->encoded = reinterpret_cast<const uint8_t*>(record->byte_storage.data());
    const int orientation =
        decoding_.upright ? OrientationOf(record->encoded, record->encoded_bytes) : kUpright;
    const Image image = ImageOfRecord(record, colour_);
    ImageShape shape = image.shape;
    const bool sized = annotation.height > 0 && annotation.width > 0;
    const auto differs = [&] {
      return sized && (shape.height != annotation.height || shape.width != annotation.width);
    };
    // Tools that draw boxes show images upright. An annotation of the stored image states its size.
    const bool stored = SwapsSides(orientation) && differs();
    if (stored) std::swap(shape.height, shape.width);
    if (differs()) {
      throw FileError("it has ", shape.height, "x", shape.width,
                      " pixels, but its annotation is for ", annotation.height, "x",
                      annotation.width);
    }
    SetImage(image, record);
    record->labels.clear();
    record->annotated = true;
    record->objects.clear();
    for (const AnnotatedObject& object : annotation.objects) {
      TakeObject(object, shape, stored ? orientation : kUpright, record);
    }
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
  // Leaves out the objects for which bad(object, image) is true. Returns their number.
  template <class Bad>
  int64_t DropObjects(const Bad& bad) {
    int64_t dropped = 0;
    for (ImageAnnotation& image : images_) {
      std::vector<AnnotatedObject>& objects = image.objects;
      const auto end = std::remove_if(objects.begin(), objects.end(),
                                      [&](const AnnotatedObject& o) { return bad(o, image); });
      dropped += objects.end() - end;
      objects.erase(end, objects.end());
    }
    return dropped;
  }

  // Leaves out the objects of other classes and logs their names.
  void KeepKnownObjects() {
    std::set<std::string> others;
    const int64_t left_out = DropObjects([&](const AnnotatedObject& object, const auto&) {
      if (labels_.count(object.name) > 0) return false;
      others.insert(object.name);
      return true;
    });
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

  // Leaves out unusable boxes, as far as the sizes of images are known.
  void DropBadBoxes() {
    std::string first;
    const int64_t dropped =
        DropObjects([&](const AnnotatedObject& object, const ImageAnnotation& image) {
          const int height = image.height > 0 ? image.height : INT_MAX;
          const int width = image.width > 0 ? image.width : INT_MAX;
          if (IsUsable(BoxOf(object, height, width))) return false;
          if (first.empty())
            first = "'" + object.name + "' in '" + image.image + "' (" + image.at.ToString() + ")";
          return true;
        });
    if (dropped == 0) return;
    LOG(WARNING) << dropped << " boxes " << kUnusableBoxes << " are left out; the first is that of "
                 << first;
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

  // Returns the box of an object in fractions of the image. Its right and lower edges lie behind
  // its pixels.
  static Box BoxOf(const AnnotatedObject& object, int height, int width) {
    return {static_cast<float>(object.left / width), static_cast<float>(object.top / height),
            static_cast<float>((object.right + 1) / width),
            static_cast<float>((object.bottom + 1) / height)};
  }

  void TakeObject(const AnnotatedObject& object, const ImageShape& shape, int orientation,
                  Record* record) const {
    const Box box = TurnedUpright(orientation, BoxOf(object, shape.height, shape.width));
    if (!IsUsable(box)) {
      ++record->remarks.dropped_boxes;
      return;
    }
    record->objects.push_back({Clipped(box), static_cast<float>(labels_.at(object.name)),
                               static_cast<float>(record->objects.size()), object.difficult});
  }

  std::vector<std::string> names_;
  std::map<std::string, int> labels_;
  std::vector<ImageAnnotation> images_;
  const DecodeOptions decoding_;
  TransformationParameter colour_;
};

}  // namespace

std::unique_ptr<Source> OpenAnnotatedFiles(const RoiDataParameter& parameter, bool empty_ones,
                                           const DecodeOptions& decoding) {
  RefuseIf(parameter.source().empty(),
           "needs source: a list of 'image annotation.xml' lines, or with format: COCO a JSON "
           "file; or data_param with the backend of annotated records");
  return WithinMemory(parameter.source(), [&] {
    return std::make_unique<AnnotatedFiles>(parameter, empty_ones, decoding);
  });
}

}  // namespace doppio
