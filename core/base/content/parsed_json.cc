#include "core/base/content/parsed_json.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/file_limits.h"

namespace doppio {
namespace {

using nlohmann::json;

SourceLoc PlaceIn(const std::string& text, const std::string& file, size_t at) {
  const size_t end = std::min(text.size(), at);
  const size_t begin = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  const size_t column = begin == std::string::npos ? end + 1 : end - begin;
  return {file, static_cast<int>(line), static_cast<int>(column)};
}

// Builds the value while the library parses the text. The library's own builder with a filter takes
// quadratic time for long lists.
class Builder : public json::json_sax_t {
 public:
  Builder(const std::string& text, const std::string& file, const std::string& skip)
      : text_(text), file_(file), skip_(skip) {}

  json Take() { return std::move(root_); }

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(int64_t value) override { return Add(value); }
  bool number_unsigned(uint64_t value) override { return Add(value); }
  bool number_float(double value, const std::string&) override { return Add(value); }
  bool string(std::string& value) override { return Add(std::move(value)); }
  bool binary(json::binary_t&) override { return false; }  // JSON has none
  bool start_object(size_t) override { return Open(json::object()); }
  bool start_array(size_t) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(std::string& name) override {
    if (skipped_ > 0) return true;
    skips_next_ = !skip_.empty() && name == skip_;
    if (!skips_next_) member_ = &(*open_.back())[name];
    return true;
  }

  bool parse_error(size_t read, const std::string&, const json::exception& e) override {
    constexpr int kBeyondDouble = 406;
    throw FileError(PlaceIn(text_, file_, read > 0 ? read - 1 : 0),
                    e.id == kBeyondDouble ? "the number that ends here is too large"
                                          : "the JSON is damaged here");
  }

 private:
  // Adds a value to the innermost open one.
  bool Add(json value) {
    if (skipped_ == 0 && !std::exchange(skips_next_, false)) Put(std::move(value));
    return true;
  }

  json* Put(json value) {
    json* place = &root_;
    if (!open_.empty() && open_.back()->is_array()) {
      open_.back()->push_back(nullptr);
      place = &open_.back()->back();
    } else if (!open_.empty()) {
      place = member_;
    }
    *place = std::move(value);
    return place;
  }

  bool Open(json empty) {
    if (open_.size() + skipped_ >= kMaxDepth) {
      throw FileError(SourceLoc{file_, 0, 0}, "its values are nested more than ", kMaxDepth,
                      " deep");
    }
    if (skipped_ > 0 || std::exchange(skips_next_, false)) {
      ++skipped_;
    } else {
      open_.push_back(Put(std::move(empty)));
    }
    return true;
  }

  bool Close() {
    if (skipped_ > 0) {
      --skipped_;
    } else {
      open_.pop_back();
    }
    return true;
  }

  const std::string &text_, &file_, &skip_;
  json root_;
  std::vector<json*> open_;  // the objects and arrays around the current value
  json* member_ = nullptr;   // of the innermost object
  bool skips_next_ = false;  // the next value is that of `skip`
  size_t skipped_ = 0;       // the number of open objects and arrays within such a value
};

}  // namespace

json ParseJson(const std::string& text, const std::string& file, const std::string& skip) {
  Builder builder(text, file, skip);
  json::sax_parse(text, &builder);
  return builder.Take();
}

json ParsedJson(const std::string& text) {
  try {
    return ParseJson(text, "");
  } catch (const FileError&) {
    return json(json::value_t::discarded);
  }
}

}  // namespace doppio
