// The user's rules that place layers on devices: the flag --place.
#ifndef DOPPIO_CORE_NET_CONTRACT_PLACE_RULE_H_
#define DOPPIO_CORE_NET_CONTRACT_PLACE_RULE_H_

#include <optional>
#include <string>
#include <vector>

namespace doppio {

// The layers whose names match a pattern belong on a place: a device such as "gpu:0", or several
// such as "gpu:0+gpu:1", each of which computes these layers for a part of the micro-batches.
struct PlaceRule {
  std::string pattern;  // see MatchesPattern
  std::string place;    // a name for which PlaceMistake returns ""
};

// A device as users name it: number `index` of the GPUs, or of the parts of the CPU.
struct DeviceName {
  bool gpu = false;
  int index = 0;
};

// Parses "cpu:1" or "gpu:0". Returns nullopt for other text.
std::optional<DeviceName> ParseDeviceName(const std::string& text);

// Returns the names of a place's devices: "gpu:0+gpu:1" -> {"gpu:0", "gpu:1"}. Micro-batch m is
// computed on number m % size.
std::vector<std::string> DevicesOfPlace(const std::string& place);

// Returns the reason why `place` does not name devices, or "": "'tpu:0' is not a device; use ...".
std::string PlaceMistake(const std::string& place);

// Parses rules such as "conv*=gpu:0,fc*=gpu:1". Throws UsageError, which names --place.
std::vector<PlaceRule> ParsePlaceRules(const std::string& text);

// Returns true if `pattern` matches the whole `name`: "*" stands for any characters, "?" for one.
bool MatchesPattern(const std::string& pattern, const std::string& name);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_PLACE_RULE_H_
