#include "tools/runs/metric_line.h"

#include <charconv>
#include <limits>
#include <string>
#include <system_error>

namespace doppio {
namespace {

// Reads tokens from the front of a line. Each method returns false if the next token is a different
// one.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool AtEnd() const { return text_.empty(); }
  bool Take(std::string_view token) {
    if (text_.substr(0, token.size()) != token) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  // Reads a string of printable ASCII characters without escapes.
  bool String(std::string_view* value) {
    if (!Take("\"")) return false;
    const size_t end = text_.find('"');
    if (end == std::string_view::npos) return false;
    *value = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    for (const char c : *value) {
      if (c < ' ' || c > '~' || c == '\\') return false;
    }
    return true;
  }

  bool Whole(int64_t* value) {
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), *value);
    return Took(end, error);
  }

  // Reads a number; null becomes NaN.
  bool Number(double* value) {
    if (Take("null")) {
      *value = std::numeric_limits<double>::quiet_NaN();
      return true;
    }
    const bool digit = !text_.empty() && (text_[0] == '-' || (text_[0] >= '0' && text_[0] <= '9'));
    if (!digit) return false;  // std::from_chars accepts "inf" and "nan", JSON does not
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), *value);
    return Took(end, error);
  }

  // Reads an object. Calls value(key) for each key; value() reads the value and returns false on
  // failure.
  template <class F>
  bool Object(const F& value) {
    if (!Take("{")) return false;
    if (Take("}")) return true;
    do {
      std::string_view key;
      if (!String(&key) || !Take(":") || !value(key)) return false;
    } while (Take(","));
    return Take("}");
  }

 private:
  bool Took(const char* end, std::errc error) {
    if (error != std::errc()) return false;
    text_.remove_prefix(end - text_.data());
    return true;
  }

  std::string_view text_;
};

// Requires names in ascending order, as in the output of a JSON library that sorts keys.
bool ScanOutputs(Scanner* in, TrainPoint* point) {
  return in->Object([&](std::string_view name) {
    if (!point->outputs.empty() && name <= point->outputs.back().first) return false;
    point->outputs.emplace_back(name, 0.0);
    return in->Number(&point->outputs.back().second);
  });
}

}  // namespace

bool ScanTrainLine(std::string_view line, TrainPoint* point) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  *point = TrainPoint();
  point->t = point->epoch = point->loss = point->lr = kNone;
  point->images_per_s = point->data_wait = kNone;
  bool is_train = false;
  Scanner in(line);
  const bool whole = in.Object([&](std::string_view key) {
    if (key == "t") return in.Number(&point->t);
    if (key == "iter") return in.Whole(&point->iter);
    if (key == "epoch") return in.Number(&point->epoch);
    if (key == "loss") return in.Number(&point->loss);
    if (key == "lr") return in.Number(&point->lr);
    if (key == "images_per_s") return in.Number(&point->images_per_s);
    if (key == "data_wait") return in.Number(&point->data_wait);
    if (key == "gpu_mem") return in.Whole(&point->gpu_mem);
    if (key == "outputs") return point->outputs.empty() && ScanOutputs(&in, point);
    std::string_view phase;
    is_train = key == "phase" && in.String(&phase) && phase == "train";
    return is_train;
  });
  return whole && is_train && in.AtEnd();
}

}  // namespace doppio
