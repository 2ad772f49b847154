#include "data/source/window_file.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

#include "core/base/content/text_file.h"
#include "core/base/error.h"

namespace doppio {
namespace {

// Reads a text word by word.
class Words {
 public:
  explicit Words(const std::string& path)
      : text_(ReadTextFile(path, "a window file")), at_{path, 1, 0} {
    SkipBlank();
  }

  const SourceLoc& at() const { return at_; }  // place of the word that Next returned
  bool end() const { return next_ == text_.size(); }

  const char* Next(const char* wanted) {
    at_.line = line_;
    if (end()) throw FileError(at_, "the file ends where ", wanted, " should be");
    begin_ = next_;
    while (!end() && !Blank()) ++next_;
    word_.assign(text_, begin_, next_ - begin_);
    SkipBlank();
    return word_.c_str();
  }

  // Returns a path that may contain spaces: it ends before the numbers at the end of its line, and
  // before a '#'.
  std::string Path(const char* wanted) {
    Next(wanted);
    const size_t begin = begin_;
    const int line = at_.line;
    size_t after = next_, end_of_path = begin_ + word_.size();
    int line_after = line_;
    while (!end() && line_ == line && std::strcmp(Next(wanted), "#") != 0) {
      char* rest = nullptr;
      std::strtof(word_.c_str(), &rest);
      if (*rest == '\0') continue;
      end_of_path = begin_ + word_.size();
      after = next_;
      line_after = line_;
    }
    next_ = after;
    line_ = line_after;
    return text_.substr(begin, end_of_path - begin);
  }

  int Int(const char* wanted, int least) {
    char* rest = nullptr;
    const long value = std::strtol(Next(wanted), &rest, 10);
    if (*rest != '\0' || value < least || value > INT32_MAX) Fail(wanted);
    return static_cast<int>(value);
  }

  float Real(const char* wanted) {
    char* rest = nullptr;
    const float value = std::strtof(Next(wanted), &rest);
    if (*rest != '\0' || !(value >= 0)) Fail(wanted);
    return value;
  }

  [[noreturn]] void Fail(const char* wanted) const {
    throw FileError(at_, "'", word_, "' is where ", wanted, " should be");
  }

 private:
  bool Blank() const { return std::isspace(static_cast<unsigned char>(text_[next_])) != 0; }
  void SkipBlank() {
    for (; !end() && Blank(); ++next_) line_ += text_[next_] == '\n';
  }

  const std::string text_;
  SourceLoc at_;
  std::string word_;
  size_t begin_ = 0;  // of word_
  size_t next_ = 0;
  int line_ = 1;
};

void ReadWindow(Words* words, int image, float foreground, float background, WindowFile* file) {
  Window window;
  window.image = image;
  window.label = words->Int("the class of a window", 0);
  const SourceLoc at = words->at();
  const float overlap = words->Real("the overlap of a window");
  for (int32_t* corner : {&window.x1, &window.y1, &window.x2, &window.y2}) {
    *corner = words->Int("a corner of a window, x1 y1 x2 y2", 0);
  }
  if (window.x2 < window.x1 || window.y2 < window.y1) {
    throw FileError(at,
                    "the window's corners are x1 y1 x2 y2, with x2 and y2 not less than x1 and y1");
  }
  if (overlap >= foreground) {
    if (window.label == 0) {
      throw FileError(at, "a window of class 0 overlaps an object by ", overlap,
                      "; class 0 is background, objects have classes from 1");
    }
    file->objects.push_back(window);
  } else if (overlap < background) {
    window.label = 0;
    file->backgrounds.push_back(window);
  }
}

}  // namespace

WindowFile ReadWindowFile(const std::string& path, float foreground, float background) {
  WindowFile file;
  for (Words words(path); !words.end();) {
    if (words.Next("'#', the start of an image,") != std::string("#")) {
      words.Fail("'#', the start of an image,");
    }
    words.Int("the number of an image", 0);
    file.paths.push_back(words.Path("the path of an image"));
    const int channels = words.Int("the channels of an image", 1);
    if (channels != 1 && channels != 3) words.Fail("1 or 3, the channels of an image,");
    if (file.paths.size() == 1) file.channels = channels;
    if (channels != file.channels) {
      throw FileError(words.at(), "an image of ", channels, " channels, but the first one has ",
                      file.channels);
    }
    words.Int("the height of an image", 1);
    words.Int("the width of an image", 1);
    const auto image = static_cast<int>(file.paths.size()) - 1;
    for (int left = words.Int("the number of windows", 0); left > 0; --left) {
      ReadWindow(&words, image, foreground, background, &file);
    }
  }
  if (file.paths.empty()) throw FileError("the window file '", path, "' is empty");
  return file;
}

}  // namespace doppio
