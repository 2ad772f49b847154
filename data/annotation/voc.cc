#include "data/annotation/voc.h"

#include <expat.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include "core/base/content/text_file.h"
#include "core/base/file.h"
#include "core/base/file_limits.h"
#include "data/record/path_lines.h"

namespace doppio {
namespace {

constexpr char kObject[] = "annotation/object";
constexpr char kObjectBox[] = "annotation/object/bndbox";

// Collects the tags of an annotation while expat reads it. Expat calls the static functions, which
// must not throw, so they keep the first mistake.
class VocReader {
 public:
  explicit VocReader(const std::string& file) : file_(file), parser_(XML_ParserCreate(nullptr)) {
    DOPPIO_CHECK(parser_ != nullptr, "no memory for a parser of XML");
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), &VocReader::Begin, &VocReader::End);
    XML_SetCharacterDataHandler(parser_.get(), &VocReader::Text);
  }

  ImageAnnotation Read(const std::string& text) {
    constexpr size_t kMostBytes = size_t{1} << 26;
    if (text.size() > kMostBytes)
      throw FileError({file_, 0, 0}, "the file is too large for an annotation of an image");
    const bool read =
        XML_Parse(parser_.get(), text.data(), static_cast<int>(text.size()), 1) == XML_STATUS_OK;
    if (mistake_) throw *mistake_;
    if (!read) {
      throw FileError(Here(),
                      "the XML is damaged: ", XML_ErrorString(XML_GetErrorCode(parser_.get())));
    }
    return annotation_;
  }

 private:
  static void Begin(void* self, const char* name, const char**) {
    static_cast<VocReader*>(self)->BeginTag(name);
  }
  static void End(void* self, const char*) { static_cast<VocReader*>(self)->EndTag(); }
  static void Text(void* self, const char* text, int bytes) {
    static_cast<VocReader*>(self)->text_.append(text, static_cast<size_t>(bytes));
  }

  SourceLoc Here() const {
    return {file_, static_cast<int>(XML_GetCurrentLineNumber(parser_.get())),
            static_cast<int>(XML_GetCurrentColumnNumber(parser_.get())) + 1};
  }

  void Fail(const SourceLoc& at, const std::string& message) {
    if (!mistake_) mistake_ = FileError(at, message);
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  void BeginTag(const std::string& name) {
    if (lengths_.empty() && name != "annotation") {
      return Fail(Here(), "the outermost tag is <" + name +
                              ">; an annotation of PASCAL VOC has "
                              "<annotation>");
    }
    if (lengths_.size() == kMaxDepth)
      return Fail(Here(), "the tags are nested more than " + std::to_string(kMaxDepth) + " deep");
    lengths_.push_back(path_.size());
    path_ += (path_.empty() ? "" : "/") + name;
    text_.clear();
    if (path_ == kObject) {
      object_ = AnnotatedObject();
      object_at_ = Here();
      sides_.clear();
    }
  }

  void EndTag() {
    const std::string& path = path_;
    if (path == "annotation/size/width") {
      annotation_.width = static_cast<int>(Number(0, 1e6));
    } else if (path == "annotation/size/height") {
      annotation_.height = static_cast<int>(Number(0, 1e6));
    } else if (path == "annotation/object/name") {
      object_.name = Word();
    } else if (path == "annotation/object/difficult") {
      object_.difficult = Number(0, 1) > 0;
    } else if (path == kObject) {
      EndObject();
    } else if (path.rfind(std::string(kObjectBox) + "/", 0) == 0) {
      const std::string side = path.substr(sizeof kObjectBox);
      if (side == "xmin" || side == "ymin" || side == "xmax" || side == "ymax")
        sides_[side] = Number(-1e6, 1e6, true);
    }
    path_.resize(lengths_.back());
    lengths_.pop_back();
    text_.clear();
  }

  void EndObject() {
    if (object_.name.empty()) return Fail(object_at_, "the object has no <name>");
    for (const char* side : {"xmin", "ymin", "xmax", "ymax"}) {
      if (sides_.count(side) > 0) continue;
      return Fail(object_at_,
                  "the object '" + object_.name + "' has no <" + side + "> in its <bndbox>");
    }
    object_.left = sides_["xmin"] - 1;
    object_.top = sides_["ymin"] - 1;
    object_.right = sides_["xmax"] - 1;
    object_.bottom = sides_["ymax"] - 1;
    annotation_.objects.push_back(object_);
  }

  // Returns the text of the current tag without spaces around it.
  std::string Word() const {
    const size_t first = text_.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) return "";
    return text_.substr(first, text_.find_last_not_of(" \t\r\n") - first + 1);
  }

  // Returns the number in the current tag, or 0 after a mistake. `nan` allows numbers that are not
  // finite.
  double Number(double least, double most, bool nan = false) {
    const std::string word = Word();
    char* rest = nullptr;
    const double value = std::strtod(word.c_str(), &rest);
    const bool allowed = (value >= least && value <= most) || (nan && !std::isfinite(value));
    if (!word.empty() && *rest == '\0' && allowed) return value;
    Fail(Here(), "<" + path_.substr(path_.rfind('/') + 1) + "> is '" + word +
                     "'; a number is "
                     "expected here");
    return 0;
  }

  struct FreeParser {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };

  const std::string file_;
  const std::unique_ptr<XML_ParserStruct, FreeParser> parser_;
  std::string path_;             // of the current tag: "annotation/object"
  std::vector<size_t> lengths_;  // of the paths of the enclosing tags
  std::string text_;             // of the current tag so far
  ImageAnnotation annotation_;
  AnnotatedObject object_;  // the current object
  SourceLoc object_at_;
  std::map<std::string, double> sides_;
  std::optional<FileError> mistake_;
};

}  // namespace

ImageAnnotation ParseVoc(const std::string& text, const std::string& file) {
  return VocReader(file).Read(text);
}

std::vector<ImageAnnotation> ReadVocList(const std::string& list, const std::string& root) {
  std::vector<ImageAnnotation> annotations;
  ErrorCollector mistakes;
  SourceLoc at = {list, 0, 0};
  for (const std::string& line :
       ReadLines(list, "a list of images, one 'image annotation.xml' line per image,")) {
    ++at.line;
    if (line.empty()) continue;
    mistakes.Try([&] {
      const auto [image, file] =
          TwoPathsIn(line, root, at, "the path of an image and that of its annotation");
      ImageAnnotation annotation = ParseVoc(ReadListedFile(root + file), root + file);
      annotation.image = root + image;
      annotation.at = at;
      annotations.push_back(std::move(annotation));
    });
  }
  mistakes.ThrowIfAny();
  if (annotations.empty()) throw FileError("the image list '", list, "' is empty");
  return annotations;
}

}  // namespace doppio
