#include "core/net/contract/place_rule.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text/split_at.h"
#include "core/base/text/whole_number.h"

namespace doppio {

std::optional<DeviceName> ParseDeviceName(const std::string& text) {
  constexpr int64_t kMost = 1023;
  const std::string kind = text.substr(0, text.find(':') + 1);
  if (kind != "cpu:" && kind != "gpu:") return std::nullopt;
  const std::optional<int64_t> index = ParseWholeNumber(text.substr(kind.size()));
  if (!index || *index < 0 || *index > kMost) return std::nullopt;
  return DeviceName{kind == "gpu:", static_cast<int>(*index)};
}

std::vector<std::string> DevicesOfPlace(const std::string& place) {
  std::vector<std::string> devices;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = place.find('+', begin);
    devices.push_back(place.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return devices;
}

std::string PlaceMistake(const std::string& place) {
  const std::vector<std::string> devices = DevicesOfPlace(place);
  for (auto device = devices.begin(); device != devices.end(); ++device) {
    if (!ParseDeviceName(*device)) {
      return "'" + *device + "' is not a device; use cpu:N or gpu:N, such as gpu:0" +
             (devices.size() > 1 ? ", or several, such as gpu:0+gpu:1" : "");
    }
    if (std::find(devices.begin(), device, *device) != device)
      return "'" + place + "' names " + *device + " twice; name each device once";
  }
  return "";
}

std::vector<PlaceRule> ParsePlaceRules(const std::string& text) {
  std::vector<PlaceRule> rules;
  for (const std::string& part : SplitAt(text, ',')) {
    const size_t equals = part.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError("--place: '", part,
                       "' is not PATTERN=DEVICE; use rules such as conv*=gpu:0,fc*=gpu:1");
    }
    rules.push_back({part.substr(0, equals), part.substr(equals + 1)});
    const std::string mistake = PlaceMistake(rules.back().place);
    if (!mistake.empty()) throw UsageError("--place: in '", part, "': ", mistake);
  }
  return rules;
}

bool MatchesPattern(const std::string& pattern, const std::string& name) {
  size_t p = 0, n = 0;
  size_t star = std::string::npos, resumed = 0;  // the last "*", and the characters it stands for
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resumed = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++resumed;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace doppio
