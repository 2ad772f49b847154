// Annotations of image files: voc and coco. The images of NAME.txt and NAME.json are in the folder
// NAME.
#include <filesystem>

#include "data/decode/encode.h"
#include "tests/random/tiny_images.h"

namespace doppio {
namespace {

std::string XmlTag(const std::string& tag, const std::string& content) {
  return "<" + tag + ">" + content + "</" + tag + ">";
}
std::string XmlTag(const std::string& tag, int64_t number) {
  return XmlTag(tag, std::to_string(number));
}

// Returns an annotation of PASCAL VOC, whose pixels are counted from 1.
std::string VocText(const DataName& name, int64_t index) {
  std::string text =
      XmlTag("size", XmlTag("width", name.shape.width) + XmlTag("height", name.shape.height) +
                         XmlTag("depth", name.shape.channels));
  for (const ObjectBox& object : TinyObjects(name, index)) {
    const PixelBox box = PixelsOf(object, name.shape);
    text += XmlTag(
        "object",
        XmlTag("name", kTinyClasses[static_cast<int>(object.label)]) +
            XmlTag("difficult", object.difficult ? 1 : 0) +
            XmlTag("bndbox", XmlTag("xmin", box.left + 1) + XmlTag("ymin", box.top + 1) +
                                 XmlTag("xmax", box.right + 1) + XmlTag("ymax", box.bottom + 1)));
  }
  return XmlTag("annotation", text) + "\n";
}

std::string ImageFileOf(const DataName& name, int64_t index) {
  return Encode(TinyImage(name, index, name.shape),
                index % 2 == 0 ? ImageFormat::kPng : ImageFormat::kJpeg);
}

std::string NameOfImage(int64_t index) {
  return std::to_string(index) + (index % 2 == 0 ? ".png" : ".jpg");
}

void WriteVoc(const DataName& name, const std::string& aside, const std::string&) {
  const std::string folder = aside + "/" + name.stem() + "/";
  std::filesystem::create_directory(folder);
  std::string lines;
  for (int64_t i = 0; i < name.records(); ++i) {
    const std::string image = NameOfImage(i), annotation = std::to_string(i) + ".xml";
    WriteBytes(folder + image, ImageFileOf(name, i));
    WriteBytes(folder + annotation, VocText(name, i));
    lines += image + " " + annotation + "\n";
  }
  WriteBytes(aside + "/" + name.text, lines);
}

// Returns an element of COCO's list of annotations.
std::string CocoObject(const ObjectBox& object, const ImageShape& shape, int64_t image) {
  const PixelBox box = PixelsOf(object, shape);
  return "{\"image_id\": " + std::to_string(image) +
         ", \"category_id\": " + std::to_string(10 * static_cast<int>(object.label)) +
         ", \"iscrowd\": " + (object.difficult ? "1" : "0") + ", \"bbox\": [" +
         std::to_string(box.left) + ", " + std::to_string(box.top) + ", " +
         std::to_string(box.right - box.left + 1) + ", " +
         std::to_string(box.bottom - box.top + 1) + "]}";
}

std::string JsonList(const std::string& name, const std::vector<std::string>& elements) {
  std::string text;
  for (const std::string& element : elements) text += (text.empty() ? "\n" : ",\n") + element;
  return "\"" + name + "\": [" + text + "]";
}

void WriteCoco(const DataName& name, const std::string& aside, const std::string&) {
  const std::string folder = aside + "/" + name.stem() + "/";
  std::filesystem::create_directory(folder);
  std::vector<std::string> images, annotations, categories;
  for (int64_t i = 0; i < name.records(); ++i) {
    const std::string file = NameOfImage(i);
    WriteBytes(folder + file, ImageFileOf(name, i));
    images.push_back("{\"id\": " + std::to_string(i) + ", \"file_name\": \"" + file +
                     "\", \"height\": " + std::to_string(name.shape.height) +
                     ", \"width\": " + std::to_string(name.shape.width) + "}");
    for (const ObjectBox& object : TinyObjects(name, i))
      annotations.push_back(CocoObject(object, name.shape, i));
  }
  // The ids of categories have gaps, as in COCO.
  for (int64_t label = 1; label < name.classes; ++label) {
    categories.push_back("{\"id\": " + std::to_string(10 * label) + ", \"name\": \"" +
                         kTinyClasses[label] + "\"}");
  }
  WriteBytes(aside + "/" + name.text, "{" + JsonList("images", images) + ",\n" +
                                          JsonList("annotations", annotations) + ",\n" +
                                          JsonList("categories", categories) + "}\n");
}

DOPPIO_REGISTER(DataKinds, "voc", {{".txt"}, &WriteVoc});
DOPPIO_REGISTER(DataKinds, "coco", {{".json"}, &WriteCoco});

}  // namespace
}  // namespace doppio
