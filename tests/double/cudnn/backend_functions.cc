#include "tests/double/cudnn/backend_functions.h"

#include <cudnn.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "tests/double/cudnn/backend_plan.h"
#include "tests/double/cudnn/common.h"
#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {
namespace {

// Maps the handles that programs hold to descriptors. A handle is a number that is never reused, so
// that every use after destruction is detected.
class Registry {
 public:
  std::mutex mutex;

  cudnnBackendDescriptor_t Add(std::shared_ptr<Descriptor> descriptor) {
    const auto key = reinterpret_cast<cudnnBackendDescriptor_t>(next_ += 16);
    live_[key] = std::move(descriptor);
    return key;
  }
  const std::shared_ptr<Descriptor>& Find(cudnnBackendDescriptor_t key, const char* function) {
    if (key == nullptr) Refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a descriptor is null");
    const auto found = live_.find(key);
    if (found == live_.end()) {
      Fault("descriptor", std::string(function) + ": no such descriptor, or it was destroyed");
    }
    return found->second;
  }
  void Remove(cudnnBackendDescriptor_t key) { live_.erase(key); }

 private:
  uintptr_t next_ = uintptr_t{0xd0} << 40;  // not a valid address of the process
  std::map<cudnnBackendDescriptor_t, std::shared_ptr<Descriptor>> live_;
};
Registry& TheRegistry() {
  static Registry& registry = *new Registry;
  return registry;
}

template <class F>
cudnnStatus_t Guarded(const char* function, const F& f) {
  try {
    return f();
  } catch (const BackendError& error) {
    return Answer(error.status, std::string(function) + ": " + error.text);
  }
}

const AttributeRule& RuleOf(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type) {
  for (const AttributeRule& rule : *RulesOf(descriptor.type)) {
    if (rule.name != name) continue;
    if (rule.type != type) {
      Refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
             std::string("CUDNN_ATTR_") + rule.text + " is not of type " + std::to_string(type));
    }
    return rule;
  }
  Refuse(CUDNN_STATUS_BAD_PARAM,
         std::string("a ") + NameOf(descriptor.type) + " has no attribute " + std::to_string(name));
}

void Set(const std::shared_ptr<Descriptor>& descriptor, const AttributeRule& rule, int64_t count,
         const void* elements) {
  const std::string text = std::string("CUDNN_ATTR_") + rule.text;
  Require(!descriptor->finalized, text + " is set after the descriptor was finalized");
  Require(rule.use != AttributeRule::Use::kReadOnly, text + " is read only");
  Require(count >= rule.least && count <= rule.most,
          text + " does not take " + std::to_string(count) + " elements");
  Require(elements != nullptr, text + " is set from a null pointer");
  AttributeValue value;
  value.count = count;
  if (rule.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const char* bytes = static_cast<const char*>(elements);
    value.bytes.assign(bytes, bytes + count * BytesOfElement(rule.type));
  } else {
    for (int64_t i = 0; i < count; ++i) {
      const auto key = static_cast<const cudnnBackendDescriptor_t*>(elements)[i];
      const auto& to = TheRegistry().Find(key, "cudnnBackendSetAttribute");
      const int expected = ReferredType(rule.name);
      // cuDNN does not detect this mistake, and fails later in other ways.
      if (expected >= 0 && to->type != expected) {
        Fault("descriptor", text + " is set to a " + NameOf(to->type));
      }
      value.referred.push_back(to);
    }
  }
  descriptor->values[rule.name] = std::move(value);
}

// Copies the values into descriptors that the program has created.
void Fill(const AttributeValue& value, int64_t count, void* elements) {
  for (int64_t i = 0; i < count; ++i) {
    const auto& to = TheRegistry().Find(static_cast<cudnnBackendDescriptor_t*>(elements)[i],
                                        "cudnnBackendGetAttribute");
    const Descriptor& from = *value.referred[static_cast<size_t>(i)];
    Require(to->type == from.type,
            std::string("a ") + NameOf(from.type) + " is read into a " + NameOf(to->type));
    Require(!to->finalized, "an attribute is read into a descriptor that is finalized");
    to->values = from.values;
    to->graph = from.graph;
    to->plan = from.plan;
    to->finalized = true;
  }
}

void Get(const Descriptor& descriptor, const AttributeRule& rule, int64_t room, int64_t* count,
         void* elements) {
  const std::string text = std::string("CUDNN_ATTR_") + rule.text;
  if (!descriptor.finalized) {
    Refuse(CUDNN_STATUS_NOT_INITIALIZED, text + " is read before the descriptor was finalized");
  }
  Require(room >= 0 && (room == 0 || elements != nullptr), text + " is read into nothing");
  CheckAlive(descriptor, "cudnnBackendGetAttribute");
  const std::unique_ptr<AttributeValue> value = ReadAttribute(descriptor, rule.name);
  const int64_t all = value == nullptr ? 0 : value->count;
  const int64_t read = std::min(room, all);
  if (count != nullptr) *count = room == 0 ? all : read;
  if (read == 0) return;
  if (rule.type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    Fill(*value, read, elements);
  } else {
    std::memcpy(elements, value->bytes.data(),
                static_cast<size_t>(read * BytesOfElement(rule.type)));
  }
}

}  // namespace

const std::vector<std::pair<const char*, void*>>& BackendFunctions() {
#define FUNCTION(name) \
  { #name, reinterpret_cast < void*>(::name) }
  static const auto& functions = *new std::vector<std::pair<const char*, void*>>{
      FUNCTION(cudnnBackendCreateDescriptor), FUNCTION(cudnnBackendDestroyDescriptor),
      FUNCTION(cudnnBackendFinalize),         FUNCTION(cudnnBackendSetAttribute),
      FUNCTION(cudnnBackendGetAttribute),     FUNCTION(cudnnBackendExecute)};
#undef FUNCTION
  return functions;
}

}  // namespace doppio::gpu_double

using namespace doppio::gpu_double;  // NOLINT: the functions below have the library's names

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  return Guarded(__func__, [&] {
    if (descriptor == nullptr) Refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no room for a key");
    if (RulesOf(type) == nullptr) {
      Refuse(CUDNN_STATUS_NOT_SUPPORTED,
             "the double has no descriptors of type " + std::to_string(type));
    }
    const std::lock_guard<std::mutex> lock(TheRegistry().mutex);
    *descriptor = TheRegistry().Add(std::make_shared<Descriptor>(type));
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return Guarded(__func__, [&] {
    const std::lock_guard<std::mutex> lock(TheRegistry().mutex);
    TheRegistry().Find(descriptor, "cudnnBackendDestroyDescriptor")->destroyed = true;
    TheRegistry().Remove(descriptor);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return Guarded(__func__, [&] {
    const std::lock_guard<std::mutex> lock(TheRegistry().mutex);
    FinalizeDescriptor(TheRegistry().Find(descriptor, "cudnnBackendFinalize").get());
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  return Guarded(__func__, [&] {
    const std::lock_guard<std::mutex> lock(TheRegistry().mutex);
    const auto& to = TheRegistry().Find(descriptor, "cudnnBackendSetAttribute");
    Set(to, RuleOf(*to, name, type), count, elements);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room,
                                       int64_t* count, void* elements) {
  return Guarded(__func__, [&] {
    const std::lock_guard<std::mutex> lock(TheRegistry().mutex);
    const auto& from = TheRegistry().Find(descriptor, "cudnnBackendGetAttribute");
    Get(*from, RuleOf(*from, name, type), room, count, elements);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  return Guarded(__func__, [&] {
    BackendExecution execution;
    {
      const std::lock_guard<std::mutex> lock(TheRegistry().mutex);
      execution = PrepareExecution(handle, *TheRegistry().Find(plan, "cudnnBackendExecute"),
                                   *TheRegistry().Find(pack, "cudnnBackendExecute"));
    }
    return Execute(handle, execution);
  });
}

}  // extern "C"
