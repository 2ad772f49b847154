// Checks that the rows draw everything that is registered: every layer type, source, update rule
// and policy, and every field that these read. A field that no row draws needs a reason in
// `left_out` of its row. A new layer or field therefore fails here until random cases have it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "core/net/graph/filler.h"
#include "core/net/graph/read_fields.h"
#include "core/net/spec/prototxt.h"
#include "data/record/source.h"
#include "tests/random/compose.h"
#include "tests/random/layer_row.h"
#include "tests/random/source_row.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kDrawsOfRow = 300;  // of each row

using Names = std::set<std::string>;

Names AsSet(const std::vector<std::string>& names) { return Names(names.begin(), names.end()); }

std::string OnLines(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += "\n  " + name;
  return text;
}

// Adds the fields that are set in the parameters of a layer, as "pooling_param.kernel_size".
void AddSetFields(const LayerParameter& layer, Names* fields) {
  std::vector<const FieldDescriptor*> messages, parts;
  layer.GetReflection()->ListFields(layer, &messages);
  for (const FieldDescriptor* message : messages) {
    if (message->message_type() == nullptr || message->is_repeated()) continue;
    const Message& set = layer.GetReflection()->GetMessage(layer, message);
    set.GetReflection()->ListFields(set, &parts);
    for (const FieldDescriptor* part : parts) fields->insert(message->name() + "." + part->name());
  }
}

void AddAll(const std::string& message, const Descriptor& type, Names* fields) {
  for (int i = 0; i < type.field_count(); ++i)
    fields->insert(message + "." + type.field(i)->name());
}

// Returns the fields that layers of a type read.
Names ReadFieldsOf(const std::string& name) {
  const LayerType& type = *LayerTypes::Get().Find(name);
  Names fields;
  for (const std::string& message : ReadMessages(name)) {
    AddAll(message, *LayerParameter::descriptor()->FindFieldByName(message)->message_type(),
           &fields);
  }
  for (const std::string& path : type.further_fields) {
    if (path.find('.') != std::string::npos) fields.insert(path);
  }
  for (const std::string& path : type.ignored_fields) fields.erase(path);
  return fields;
}

// Returns true if the row leaves the field out: by its path, its own name, or its whole message.
bool LeavesOut(const LayerRow& row, const std::string& path) {
  const size_t dot = path.find('.');
  return row.left_out.count(path) + row.left_out.count(path.substr(dot + 1)) +
             row.left_out.count(path.substr(0, dot)) >
         0;
}

// ---- Layers ------------------------------------------------------------------------------------

std::vector<std::string> ProductTypes() {
  std::vector<std::string> types;
  for (const std::string& type : LayerTypes::Get().Names()) {
    if (type.rfind("Test", 0) != 0) types.push_back(type);
  }
  return types;
}

// A draft with sources of many shapes and a few layers.
struct VariedDraft {
  explicit VariedDraft(uint64_t seed)
      : draw(seed, "varied drafts"),
        plan(DrawNetPlan(&draw)),
        draft(&draw, plan.batch, plan.test_batch) {
    AddSources(plan, &draft);
    plan.layers = static_cast<int>(draw.Int(0, 5));
    plan.branches = plan.shared = 0;
    plan.avoided = 0;
    plan.old_types = false;
    AddInnerLayers(plan, &draft);
  }
  Draw draw;
  NetPlan plan;
  NetDraft draft;
};

const VariedDraft& DraftNumber(size_t number) {
  static auto* const drafts = new std::vector<std::unique_ptr<VariedDraft>>;
  while (drafts->size() <= number) drafts->push_back(std::make_unique<VariedDraft>(drafts->size()));
  return *(*drafts)[number];
}

// Draws a type's row on many drafts, until all of `wanted` are drawn. Returns the fields that are
// set in layers of the type, and sets `layers` to their number.
Names DrawnByLayerRow(const std::string& type, const LayerRow& row, const Names& wanted,
                      int* layers) {
  constexpr size_t kDrafts = 60;
  Names fields;
  *layers = 0;
  for (int i = 0; i < kDrawsOfRow; ++i) {
    Draw draw(static_cast<uint64_t>(i), type);
    NetDraft draft = DraftNumber(static_cast<size_t>(i) % kDrafts).draft;
    draft.set_draw(&draw);
    draft.Begin(type);
    const int first = draft.net().layer_size();
    row.draw(&draft);
    for (int j = first; j < draft.net().layer_size(); ++j) {
      const LayerParameter& layer = draft.net().layer(j);
      if (layer.type() != type || NetDraft::IsStandIn(layer)) continue;
      ++*layers;
      AddSetFields(layer, &fields);
    }
    if (*layers > 20 && std::includes(fields.begin(), fields.end(), wanted.begin(), wanted.end()))
      break;
  }
  return fields;
}

bool IsRowOf(const std::string& source, const std::string& type) {
  return source == type || source.rfind(type + "/", 0) == 0;
}

// A wish that `row` may fulfil, of many kinds.
SourceWish VariedWish(const SourceRow& row, Draw* draw) {
  SourceWish wish;
  wish.folder = "data/";
  wish.name = "data";
  wish.phase = draw->Of<std::string>({"", "include { phase: TRAIN }"});
  const int64_t tops = draw->Int(row.least_tops, row.most_tops);
  for (int64_t i = 0; i < tops; ++i) wish.tops.push_back("top" + std::to_string(i));
  wish.batch = draw->Of<int64_t>({1, 1, 2, 5});
  const int64_t rows = draw->Extent(20), columns = draw->Chance(0.5) ? rows : draw->Extent(20);
  wish.sample = Shape{draw->Of<int64_t>({1, 3, 3, 7}), rows, columns};
  wish.classes = draw->Of<int64_t>({2, 6, 10, 17});
  wish.records = draw->Int(5, 30);
  return wish;
}

// Draws the rows of sources of a layer type likewise.
Names DrawnBySourceRows(const std::string& type, int* layers) {
  Names fields;
  for (const std::string& name : SourceRows::Get().Names()) {
    if (!IsRowOf(name, type)) continue;
    const SourceRow& row = *SourceRows::Get().Find(name);
    int drawn = 0;
    for (int i = 0; i < 20 * kDrawsOfRow && drawn < kDrawsOfRow; ++i) {
      Draw draw(static_cast<uint64_t>(i), name);
      const std::string text = row.draw(&draw, VariedWish(row, &draw));
      if (text.empty()) continue;
      NetParameter net;
      ParseText(text, name, &net);
      EXPECT_EQ(net.layer(0).type(), type) << text;
      AddSetFields(net.layer(0), &fields);
      ++drawn;
    }
    EXPECT_GT(drawn, 10) << name << " fulfils too few wishes";
    *layers += drawn;
  }
  return fields;
}

// The fields that the rows of a type have set, and the number of layers that they have drawn.
struct Drawn {
  Names fields;  // that are set in the layers
  int layers = 0;
};

Drawn DrawRowsOf(const std::string& type) {
  const LayerRow* row = LayerRows::Get().Find(type);
  Drawn drawn;
  if (row != nullptr && row->draw != nullptr) {
    Names wanted;
    for (const std::string& path : ReadFieldsOf(type)) {
      if (!LeavesOut(*row, path)) wanted.insert(path);
    }
    drawn.fields = DrawnByLayerRow(type, *row, wanted, &drawn.layers);
  }
  drawn.fields.merge(DrawnBySourceRows(type, &drawn.layers));
  return drawn;
}

const Drawn& DrawnOf(const std::string& type) {
  static auto* const known = new std::map<std::string, Drawn>;
  const auto found = known->find(type);
  return found != known->end() ? found->second : (*known)[type] = DrawRowsOf(type);
}

TEST(Coverage, HasARowForEveryLayerTypeAndForNoOther) {
  const Names types = AsSet(ProductTypes());
  for (const std::string& type : types) {
    EXPECT_NE(LayerRows::Get().Find(type), nullptr)
        << type << ": register a row in tests/layers (tests/random/layer_row.h)";
  }
  for (const std::string& type : LayerRows::Get().Names())
    EXPECT_EQ(types.count(type), 1u) << type << " is no layer type";
}

// A gap of a type is a field that its rows should draw but do not.
TEST(Coverage, DrawsEveryFieldThatALayerReadsOrSaysWhyNot) {
  for (const std::string& type : ProductTypes()) {
    const LayerRow* row = LayerRows::Get().Find(type);
    if (row == nullptr) continue;  // the previous test fails
    const Drawn& drawn = DrawnOf(type);
    EXPECT_GT(drawn.layers, 5) << type << " is drawn too rarely";
    Names gaps, stale;
    for (const std::string& path : ReadFieldsOf(type)) {
      const bool seen = drawn.fields.count(path) > 0, left_out = LeavesOut(*row, path);
      if (!seen && !left_out) gaps.insert(path);
      if (seen && left_out) stale.insert(path);
    }
    EXPECT_TRUE(gaps.empty()) << type
                              << " never draws, without a reason in left_out:" << OnLines(gaps);
    EXPECT_TRUE(stale.empty()) << type << " leaves out, but draws:" << OnLines(stale);
  }
}

TEST(Coverage, GivesReasonsOnlyForFieldsOfTheLayer) {
  for (const std::string& type : LayerRows::Get().Names()) {
    if (LayerTypes::Get().Find(type) == nullptr) continue;
    const Names fields = ReadFieldsOf(type);
    for (const auto& [name, reason] : LayerRows::Get().Find(type)->left_out) {
      EXPECT_GT(reason.size(), 5u) << type << ", " << name;
      const auto named = [&, &named = name](const std::string& path) {
        LayerRow only;
        only.left_out[named] = "because";
        // Nested fields ("data_filler.sparse") may be left out alone.
        return LeavesOut(only, path) || named.rfind(path + ".", 0) == 0;
      };
      EXPECT_TRUE(std::any_of(fields.begin(), fields.end(), named))
          << type << " does not read " << name;
    }
  }
}

TEST(Coverage, DrawsEveryFiller) {
  FillerParameter unknown;
  unknown.set_type("?");
  std::string known = Mistake([&] { CheckFiller(unknown, Shape{1}); });
  known = known.substr(known.find("(known:")) + " ";
  Draw draw(1);
  NetDraft draft(&draw, 2, 2);
  draft.Begin("Convolution");
  Names types, fields;
  for (int i = 0; i < kDrawsOfRow; ++i) {
    LayerParameter layer;
    ParseText("convolution_param { " + draft.Filler("weight_filler") + " }", "filler", &layer);
    const FillerParameter& filler = layer.convolution_param().weight_filler();
    EXPECT_NE(known.find(" " + filler.type()), std::string::npos) << filler.type();
    types.insert(filler.type());
    std::vector<const FieldDescriptor*> set;
    filler.GetReflection()->ListFields(filler, &set);
    for (const FieldDescriptor* field : set) fields.insert("filler." + field->name());
  }
  EXPECT_EQ(static_cast<std::ptrdiff_t>(types.size()),
            std::count(known.begin(), known.end(), ' ') - 1)
      << known;
  Names all;
  AddAll("filler", *FillerParameter::descriptor(), &all);
  EXPECT_EQ(fields, all);
}

// ---- Sources -----------------------------------------------------------------------------------

TEST(Coverage, HasARowForEveryBackend) {
  for (const std::string& backend : Sources::Get().Names())
    EXPECT_NE(SourceRows::Get().Find("Data/" + backend), nullptr) << backend;
}

TEST(Coverage, HasSourcesOnlyOfLayerTypes) {
  for (const std::string& name : SourceRows::Get().Names())
    EXPECT_NE(LayerTypes::Get().Find(name.substr(0, name.find('/'))), nullptr) << name;
}

// A transform that one layer refuses must be drawn for another.
TEST(Coverage, DrawsEveryTransform) {
  Names all;
  AddAll("transform_param", *TransformationParameter::descriptor(), &all);
  for (const std::string& type : ProductTypes()) {
    for (const std::string& field : DrawnOf(type).fields) all.erase(field);
  }
  EXPECT_TRUE(all.empty()) << "no source draws:" << OnLines(all);
}

}  // namespace
}  // namespace doppio
