#include "data/annotation/coco.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/content/parsed_json.h"

namespace doppio {
namespace {

using Json = nlohmann::json;

// The place of an element of a list in messages: "annotations[17]".
struct CocoPlace {
  const std::string& file;
  std::string list;
  size_t index;

  FileError Mistake(const std::string& message) const {
    return FileError({file, 0, 0}, list, "[", index, "] ", message);
  }
};

// Returns list `name` of the file. Throws FileError if the file has none.
const Json& ListOf(const Json& root, const std::string& file, const std::string& name) {
  const auto found = root.is_object() ? root.find(name) : root.end();
  if (root.is_object() && found != root.end() && found->is_array()) return *found;
  throw FileError({file, 0, 0}, "the file has no list '", name,
                  "'; annotations of COCO have images, annotations and categories");
}

int64_t WholeOf(const CocoPlace& place, const Json& element, const char* key) {
  const auto found = element.is_object() ? element.find(key) : element.end();
  if (element.is_object() && found != element.end() && found->is_number_integer())
    return found->get<int64_t>();
  throw place.Mistake(std::string("has no '") + key + "', a whole number");
}

std::string TextOf(const CocoPlace& place, const Json& element, const char* key) {
  const auto found = element.is_object() ? element.find(key) : element.end();
  if (element.is_object() && found != element.end() && found->is_string())
    return found->get<std::string>();
  throw place.Mistake(std::string("has no '") + key + "', a text");
}

// Returns the extent `key` of an image, or 0 if it is not given.
int SideOf(const CocoPlace& place, const Json& image, const char* key) {
  if (!image.is_object() || image.find(key) == image.end()) return 0;
  const int64_t side = WholeOf(place, image, key);
  if (side >= 1 && side <= 1'000'000) return static_cast<int>(side);
  throw place.Mistake(std::string("has the ") + key + " " + std::to_string(side));
}

// Reads bbox: left, top, width, height. Sets the outermost pixels.
void ReadCocoBox(const CocoPlace& place, const Json& annotation, AnnotatedObject* object) {
  const auto box = annotation.find("bbox");
  const bool four = box != annotation.end() && box->is_array() && box->size() == 4 &&
                    std::all_of(box->begin(), box->end(), [](const Json& side) {
                      return side.is_number() && std::isfinite(side.get<double>());
                    });
  if (!four) throw place.Mistake("has no 'bbox' of four numbers: x, y, width, height");
  const double width = (*box)[2].get<double>(), height = (*box)[3].get<double>();
  // A box without area ends before its first pixel.
  const auto last = [](double first, double side) {
    return side > 0 ? first + std::max(0.0, side - 1) : first + std::min(-1.0, side);
  };
  object->left = (*box)[0].get<double>();
  object->top = (*box)[1].get<double>();
  object->right = last(object->left, width);
  object->bottom = last(object->top, height);
}

class CocoReader {
 public:
  CocoReader(Json root, const std::string& file, const std::string& folder)
      : root_(std::move(root)), file_(file), folder_(folder) {}

  CocoAnnotations Read() {
    ReadCategories();
    ReadImages();
    const Json& list = ListOf(root_, file_, "annotations");
    for (size_t i = 0; i < list.size(); ++i) ReadObject({file_, "annotations", i}, list[i]);
    return std::move(read_);
  }

 private:
  void ReadCategories() {
    const Json& list = ListOf(root_, file_, "categories");
    for (size_t i = 0; i < list.size(); ++i) {
      const CocoPlace place = {file_, "categories", i};
      const int64_t id = WholeOf(place, list[i], "id");
      if (!categories_.emplace(id, TextOf(place, list[i], "name")).second)
        throw place.Mistake("has the id " + std::to_string(id) + " of another category");
    }
    for (const auto& [id, name] : categories_) read_.class_names.push_back(name);
  }

  void ReadImages() {
    const Json& list = ListOf(root_, file_, "images");
    for (size_t i = 0; i < list.size(); ++i) {
      const CocoPlace place = {file_, "images", i};
      const int64_t id = WholeOf(place, list[i], "id");
      if (!images_.emplace(id, i).second)
        throw place.Mistake("has the id " + std::to_string(id) + " of another image");
      ImageAnnotation image;
      image.image = folder_ + TextOf(place, list[i], "file_name");
      if (image.image.find('\0') != std::string::npos)
        throw place.Mistake("has a 'file_name' with the character 0, which no path has");
      image.at = {file_, 0, 0};
      image.height = SideOf(place, list[i], "height");
      image.width = SideOf(place, list[i], "width");
      read_.images.push_back(std::move(image));
    }
    if (list.empty()) throw FileError({file_, 0, 0}, "the list 'images' is empty");
  }

  void ReadObject(const CocoPlace& place, const Json& annotation) {
    const int64_t image = WholeOf(place, annotation, "image_id");
    const int64_t category = WholeOf(place, annotation, "category_id");
    const auto of_image = images_.find(image);
    if (of_image == images_.end())
      throw place.Mistake("names image " + std::to_string(image) + ", which 'images' lacks");
    const auto of_category = categories_.find(category);
    if (of_category == categories_.end()) {
      throw place.Mistake(StrCat("names category ", category, ", which 'categories' lacks"));
    }
    AnnotatedObject object;
    object.name = of_category->second;
    ReadCocoBox(place, annotation, &object);
    const auto crowd = annotation.find("iscrowd");
    object.difficult = crowd != annotation.end() && crowd->is_number() && crowd->get<double>() != 0;
    read_.images[of_image->second].objects.push_back(std::move(object));
  }

  const Json root_;
  const std::string &file_, &folder_;
  std::map<int64_t, std::string> categories_;  // names by id
  std::map<int64_t, size_t> images_;           // indices by id
  CocoAnnotations read_;
};

}  // namespace

CocoAnnotations ParseCoco(const std::string& text, const std::string& file,
                          const std::string& root) {
  // Outlines are most of such a file.
  return CocoReader(ParseJson(text, file, "segmentation"), file, root).Read();
}

}  // namespace doppio
