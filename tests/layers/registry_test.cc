// Checks that every registered layer type has kernels, and that the manual lists the types.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

#include "core/device/kind_cuda.h"
#include "core/net/contract/layer.h"
#include "layers/activation/activation_ops.h"
#include "proto/net.pb.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// Returns all registered layer types except those that tests register.
std::vector<std::string> ProductTypes() {
  std::vector<std::string> types;
  for (const std::string& type : LayerTypes::Get().Names()) {
    if (type.rfind("Test", 0) != 0) types.push_back(type);
  }
  return types;
}

std::vector<std::string> Engines(const std::string& type) {
  std::vector<std::string> engines;
  for (const KernelType* kernel : KernelTypes::Get().For(type, DeviceKind::kCpu))
    engines.push_back(kernel->engine);
  return engines;
}

TEST(LayerRegistry, HasAReferenceKernelLastForEveryLayerThatComputes) {
  std::set<std::string> without;
  for (const std::string& type : ProductTypes()) {
    const std::vector<std::string> engines = Engines(type);
    if (engines.empty()) {
      without.insert(type);
    } else {
      EXPECT_EQ(engines.back(), "reference") << type;
      EXPECT_EQ(std::set<std::string>(engines.begin(), engines.end()).size(), engines.size())
          << type;
    }
  }
  EXPECT_EQ(without, (std::set<std::string>{"Flatten", "Reshape", "Split"}));
}

TEST(LayerRegistry, NeedsNoKernelForViews) {
  for (const char* layer :
       {"'Flatten'", "'Reshape' reshape_param { shape { dim: -1 } }", "'Split'"}) {
    const Graph graph = GraphFromText(
        "layer { name: 'in' type: 'TestInput' top: 'x' input_param { shape { dim: 1 dim: 2 } } }"
        "layer { name: 'view' bottom: 'x' top: 'y' type: " +
        std::string(layer) + " }");
    EXPECT_NE(graph.nodes[1].shape.view, View::kNone) << layer;
  }
}

TEST(LayerRegistry, NamesTheReferenceOnlyForTheCpu) {
  for (const std::string& type : ProductTypes()) {
    for (const KernelType* kernel : KernelTypes::Get().For(type, DeviceKind::kCpu)) {
      EXPECT_NE(kernel->make, nullptr) << type;
      EXPECT_EQ(kernel->engine == "reference", kernel->rank == 0) << type << ", " << kernel->engine;
    }
    for (const KernelType* kernel : KernelTypes::Get().For(type, kCudaKind)) {
      EXPECT_NE(kernel->engine, "reference") << type;
    }
  }
}

TEST(LayerRegistry, NamesFieldsOfTheSchema) {
  const auto& layer = *LayerParameter::descriptor();
  for (const std::string& name : ProductTypes()) {
    const LayerType& type = *LayerTypes::Get().Find(name);
    for (const std::string& path : type.further_fields) {
      const size_t dot = path.find('.');
      const auto* param = layer.FindFieldByName(path.substr(0, dot));
      ASSERT_NE(param, nullptr) << name << ", " << path;
      if (dot == std::string::npos) continue;
      EXPECT_NE(param->message_type()->FindFieldByName(path.substr(dot + 1)), nullptr) << path;
    }
    for (const std::string& path : type.batch_fields) {
      const size_t dot = path.find('.');
      const auto* param = layer.FindFieldByName(path.substr(0, dot));
      ASSERT_NE(param, nullptr) << name << ", " << path;
      const auto* field = param->message_type()->FindFieldByName(path.substr(dot + 1));
      ASSERT_NE(field, nullptr) << name << ", " << path;
      EXPECT_TRUE(field->message_type() == BlobShape::descriptor() ||
                  field->type() == google::protobuf::FieldDescriptor::TYPE_UINT32)
          << name << ", " << path;
    }
    if (!type.relu_field.empty()) {
      EXPECT_NE(layer.FindFieldByName(type.relu_field)->message_type()->FindFieldByName("relu"),
                nullptr)
          << name;
    }
  }
}

// Returns the types in the first cells of the table under "## Layers", where they are in backticks.
std::vector<std::string> TypesInTheManual() {
  std::ifstream manual("docs/reference.md");
  EXPECT_TRUE(manual.good());
  std::vector<std::string> types;
  bool in_section = false;
  const std::string row = "| `";
  for (std::string line; std::getline(manual, line);) {
    if (line.rfind("## ", 0) == 0) in_section = line == "## Layers";
    if (!in_section || line.rfind(row, 0) != 0) continue;
    const size_t end = line.find('`', row.size());
    // The rows of other tables in the section start with names of fields, in lower case.
    const std::string name = line.substr(row.size(), end - row.size());
    if (std::isupper(static_cast<unsigned char>(name[0])) && line.compare(end, 3, "` |") == 0)
      types.push_back(name);
  }
  return types;
}

TEST(LayerRegistry, IsTheTableOfTheManual) {
  const std::vector<std::string> rows = TypesInTheManual(), registered = ProductTypes();
  const std::set<std::string> manual(rows.begin(), rows.end());
  EXPECT_EQ(manual.size(), rows.size()) << "a type has two rows";
  EXPECT_EQ(manual, std::set<std::string>(registered.begin(), registered.end()));
}

template <class... Ops>
std::set<std::string> ActivationTypes(std::tuple<Ops...>*) {
  return {Ops::kType...};
}

// Returns the types that the manual allows behind a Filter, which are in backticks. The first word
// of the list stands for all activations.
std::set<std::string> TypesBehindFilterInTheManual() {
  std::ifstream manual("docs/prototxt.md");
  std::string paragraph;
  for (std::string line; std::getline(manual, line) && (paragraph.empty() || !line.empty());) {
    if (!paragraph.empty() || line.rfind("Between a Filter and the losses,", 0) == 0)
      paragraph += line + ' ';
  }
  const size_t begin = paragraph.find(": activations, `"), end = paragraph.find(", none of them");
  EXPECT_LT(begin, end) << paragraph;
  std::set<std::string> types = ActivationTypes(static_cast<AllActivations*>(nullptr));
  std::istringstream list(paragraph.substr(begin, end - begin));
  std::string between, type;
  while (std::getline(list, between, '`') && std::getline(list, type, '`')) types.insert(type);
  return types;
}

TEST(LayerRegistry, HasTheRowByRowLayersOfTheManual) {
  std::set<std::string> row_by_row;
  for (const std::string& type : ProductTypes()) {
    if (LayerTypes::Get().Find(type)->row_by_row) row_by_row.insert(type);
  }
  EXPECT_EQ(TypesBehindFilterInTheManual(), row_by_row);
}

}  // namespace
}  // namespace doppio
