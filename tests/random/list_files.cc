// Lists of image files: list, listjpeg, listmixed, listsizes, paths, pairs, pairsizes, edges and
// windows. The images of NAME.txt are in the folder NAME.
#include <filesystem>

#include "data/decode/encode.h"
#include "tests/random/tiny_images.h"

namespace doppio {
namespace {

// Writes the image files of a list and collects its lines.
class ListWriter {
 public:
  ListWriter(const DataName& name, const std::string& aside)
      : list_(aside + "/" + name.text), folder_(aside + "/" + name.stem()) {
    std::filesystem::create_directory(folder_);
  }

  // Writes an image to a file of the list's folder, and returns its name.
  std::string Write(const std::string& name, const Image& image, ImageFormat format) {
    const std::string file = name + (format == ImageFormat::kJpeg ? ".jpg" : ".png");
    WriteBytes(folder_ + "/" + file, Encode(image, format));
    return file;
  }
  void Add(const std::string& line) { lines_ += line + "\n"; }
  void Finish() const { WriteBytes(list_, lines_); }

 private:
  const std::string list_, folder_;
  std::string lines_;
};

// PNG and JPEG in turn.
ImageFormat ListFormat(int64_t index) {
  return index % 2 == 0 ? ImageFormat::kPng : ImageFormat::kJpeg;
}

void WriteImageList(const DataName& name, const std::string& aside, const std::string&) {
  ListWriter list(name, aside);
  const bool varied = name.kind == "listsizes", mixed = name.kind == "listmixed";
  for (int64_t i = 0; i < name.records(); ++i) {
    ImageShape shape = varied ? VariedShape(name, i) : name.shape;
    if (mixed) shape.channels = i / 2 % 2 == 0 ? 1 : 3;
    const ImageFormat format = varied || mixed           ? ListFormat(i)
                               : name.kind == "listjpeg" ? ImageFormat::kJpeg
                                                         : ImageFormat::kPng;
    std::string line = list.Write(std::to_string(i), TinyImage(name, i, shape), format);
    const int labels = name.kind == "paths" ? 0 : name.labels;
    for (int label = 0; label < labels; ++label)
      line += " " + std::to_string(TinyLabel(name, i, label));
    list.Add(line);
  }
  list.Finish();
}

void WriteImagePairs(const DataName& name, const std::string& aside, const std::string&) {
  ListWriter list(name, aside);
  for (int64_t i = 0; i < name.records(); ++i) {
    const ImageShape shape = name.kind == "pairsizes" ? VariedShape(name, i) : name.shape;
    const ImageShape gray = {1, shape.height, shape.width};
    const std::string image =
        list.Write(std::to_string(i), TinyImage(name, i, shape), ListFormat(i));
    // Gray pixels of another image are edges.
    const Image labels = name.kind == "edges" ? TinyImage(name, name.records() + i, gray)
                                              : TinyLabelImage(name, i, shape);
    list.Add(image + " " + list.Write(std::to_string(i) + "_label", labels, ImageFormat::kPng));
  }
  list.Finish();
}

std::string WindowLine(const ObjectBox& object, const ImageShape& shape, const char* overlap) {
  const PixelBox box = PixelsOf(object, shape);
  std::string line = std::to_string(static_cast<int>(object.label)) + " " + overlap;
  for (const int64_t pixel : {box.left, box.top, box.right, box.bottom})
    line += " " + std::to_string(pixel);
  return line;
}

// Each image has an object, a background, and up to two windows between them.
void WriteWindows(const DataName& name, const std::string& aside, const std::string&) {
  ListWriter list(name, aside);
  for (int64_t i = 0; i < name.records(); ++i) {
    const std::string image =
        list.Write(std::to_string(i), TinyImage(name, i, name.shape), ListFormat(i));
    std::vector<ObjectBox> windows = TinyObjects(name, i);
    windows.push_back(windows[0]);
    windows.back().label = 0;
    list.Add("# " + std::to_string(i) + " " + image + " " + std::to_string(name.shape.channels) +
             " " + std::to_string(name.shape.height) + " " + std::to_string(name.shape.width) +
             " " + std::to_string(windows.size()));
    for (size_t w = 0; w < windows.size(); ++w) {
      const bool background = w + 1 == windows.size();
      list.Add(WindowLine(windows[w], name.shape, background ? "0.05" : w == 0 ? "1" : "0.45"));
    }
  }
  list.Finish();
}

DOPPIO_REGISTER(DataKinds, "list", {{".txt"}, &WriteImageList});
DOPPIO_REGISTER(DataKinds, "listjpeg", {{".txt"}, &WriteImageList});
DOPPIO_REGISTER(DataKinds, "listmixed", {{".txt"}, &WriteImageList});
DOPPIO_REGISTER(DataKinds, "listsizes", {{".txt"}, &WriteImageList});
DOPPIO_REGISTER(DataKinds, "paths", {{".txt"}, &WriteImageList});
DOPPIO_REGISTER(DataKinds, "pairs", {{".txt"}, &WriteImagePairs});
DOPPIO_REGISTER(DataKinds, "pairsizes", {{".txt"}, &WriteImagePairs});
DOPPIO_REGISTER(DataKinds, "edges", {{".txt"}, &WriteImagePairs});
DOPPIO_REGISTER(DataKinds, "windows", {{".txt"}, &WriteWindows});

}  // namespace
}  // namespace doppio
