// Descriptors of cuDNN's backend API: their types, the attributes of each type, and the values that
// were set. backend_graph.h and backend_plan.h interpret the values when a descriptor is finalized.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_DESCRIPTOR_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_DESCRIPTOR_H_

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace doppio::gpu_double {

struct BackendGraph;  // backend_graph.h
struct BackendPlan;   // backend_plan.h
struct Descriptor;

// Thrown inside the double, and converted to a status at the API.
struct BackendError {
  cudnnStatus_t status;
  std::string text;
};
// Throws BackendError.
[[noreturn]] void Refuse(cudnnStatus_t status, const std::string& text);
// Throws BackendError with CUDNN_STATUS_BAD_PARAM unless `holds`.
void Require(bool holds, const std::string& text);

// An attribute that a type of descriptor has.
struct AttributeRule {
  enum class Use { kRequired, kOptional, kReadOnly };
  cudnnBackendAttributeName_t name;
  const char* text;
  cudnnBackendAttributeType_t type;
  int64_t least, most;  // number of elements
  Use use;
};

// Returns null if the double does not support descriptors of this type.
const std::vector<AttributeRule>* RulesOf(cudnnBackendDescriptorType_t type);
const char* NameOf(cudnnBackendDescriptorType_t type);
int64_t BytesOfElement(cudnnBackendAttributeType_t type);
// Returns the type of descriptor that an attribute of type CUDNN_TYPE_BACKEND_DESCRIPTOR refers to.
// Returns -1 for the operations of a graph, which have several types.
int ReferredType(cudnnBackendAttributeName_t name);

struct AttributeValue {
  int64_t count = 0;
  std::vector<char> bytes;                            // for plain types
  std::vector<std::shared_ptr<Descriptor>> referred;  // for CUDNN_TYPE_BACKEND_DESCRIPTOR
};

struct Descriptor {
  explicit Descriptor(cudnnBackendDescriptorType_t type) : type(type) {}

  const cudnnBackendDescriptorType_t type;
  bool finalized = false;
  bool destroyed = false;  // by the user, while other descriptors still refer to this one
  std::map<cudnnBackendAttributeName_t, AttributeValue> values;
  std::shared_ptr<const BackendGraph> graph;  // set for a finalized operation graph
  std::shared_ptr<const BackendPlan> plan;    // set for a finalized execution plan

  bool Has(cudnnBackendAttributeName_t name) const { return values.count(name) > 0; }
  // Returns the elements of an attribute; empty if it is not set. T must have the element's size.
  template <class T>
  std::vector<T> All(cudnnBackendAttributeName_t name) const {
    const auto found = values.find(name);
    if (found == values.end()) return {};
    const T* data = reinterpret_cast<const T*>(found->second.bytes.data());
    return std::vector<T>(data, data + found->second.count);
  }
  template <class T>
  T One(cudnnBackendAttributeName_t name, T otherwise = {}) const {
    const std::vector<T> all = All<T>(name);
    return all.empty() ? otherwise : all[0];
  }
  // Returns the descriptor that an attribute refers to, which must be finalized. Returns null if
  // the attribute is not set.
  const Descriptor* Referred(cudnnBackendAttributeName_t name) const;

  template <class T>
  void Put(cudnnBackendAttributeName_t name, const std::vector<T>& elements) {
    const char* data = reinterpret_cast<const char*>(elements.data());
    values[name] = {static_cast<int64_t>(elements.size()),
                    std::vector<char>(data, data + elements.size() * sizeof(T)),
                    {}};
  }
};

// Throws BackendError unless `descriptor` has all required attributes.
void CheckComplete(const Descriptor& descriptor);
// Fault("descriptor") if `descriptor`, which is in use, refers to a descriptor that the user has
// destroyed. cuDNN keeps no copies.
void CheckAlive(const Descriptor& descriptor, const char* doing);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_DESCRIPTOR_H_
