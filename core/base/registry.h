// Maps names to values. Static initialisers register the values, so a registry contains exactly the
// entries of the linked files. All registrations happen before main and all look-ups after it, so
// there is no lock.
//
//   using Rules = Registry<RuleFactory>;
//   DOPPIO_REGISTER(Rules, "SGD", MakeSgd);
#ifndef DOPPIO_CORE_BASE_REGISTRY_H_
#define DOPPIO_CORE_BASE_REGISTRY_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/text/nearest.h"

namespace doppio {

template <class Value>
class Registry {
 public:
  // Returns the process's only registry of this type.
  static Registry& Get() {
    static Registry* registry = new Registry;  // never destroyed, because static objects use it
    return *registry;
  }

  // Returns true. A name that is already registered is a bug (DOPPIO_CHECK).
  bool Add(const std::string& name, Value value) {
    DOPPIO_CHECK(values_.emplace(name, std::move(value)).second, "registered twice: " + name);
    return true;
  }

  // Returns null if `name` is not registered.
  const Value* Find(const std::string& name) const {
    auto it = values_.find(name);
    return it == values_.end() ? nullptr : &it->second;
  }

  // Returns all names, sorted.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : values_) names.push_back(entry.first);
    return names;
  }

 private:
  std::map<std::string, Value> values_;
};

#define DOPPIO_CONCAT_INNER(a, b) a##b
#define DOPPIO_CONCAT(a, b) DOPPIO_CONCAT_INNER(a, b)
// Registers a value at program start. `registry` is a type; the remaining arguments are the name
// and the value.
#define DOPPIO_REGISTER(registry, name, ...)                                          \
  [[maybe_unused]] static const bool DOPPIO_CONCAT(doppio_registered_, __COUNTER__) = \
      registry::Get().Add(name, __VA_ARGS__)

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_REGISTRY_H_
