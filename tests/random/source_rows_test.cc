// Tests the rows of sources: the product reads the drawn layers and their data files.
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "core/net/graph/read_fields.h"
#include "core/net/run/find_memory_source.h"
#include "tests/data/data_net.h"
#include "tests/random/data_files.h"
#include "tests/random/layer_row.h"
#include "tests/random/source_row.h"

namespace doppio {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

SourceWish DrawWish(Draw* draw, const SourceRow& row, Phase phase) {
  SourceWish wish;
  wish.folder = ScratchPath("data");
  wish.phase = draw->Chance(0.5) ? "" : "include { phase: " + Phase_Name(phase) + " }";
  wish.name = "source";
  const int64_t tops = draw->Int(row.least_tops, row.most_tops);
  for (int64_t i = 0; i < tops; ++i) wish.tops.push_back("top" + std::to_string(i));
  wish.batch = row.least_tops >= 3 ? 1 : draw->Of<int64_t>({1, 2, 3, 5});
  const int64_t channels = draw->Of<int64_t>({1, 3, 3, 4});
  const int64_t height = draw->Extent(17), width = draw->Chance(0.5) ? height : draw->Extent(17);
  wish.sample = Shape{channels, height, width};
  wish.classes = draw->Of<int64_t>({2, 5, 10, 10});
  wish.records = draw->Of<int64_t>({1, 4, 7});
  return wish;
}

NetParameter NetOf(const std::string& text) { return Parse<NetParameter>(text); }

// Returns the text of the first layer of a net without "layer {" and "}", as DataNet takes it.
std::string BodyOf(const std::string& text) {
  LayerParameter layer = NetOf(text).layer(0);
  layer.clear_name();
  std::string body;
  google::protobuf::TextFormat::PrintToString(layer, &body);
  return body;
}

// Returns the tops of two passes.
std::vector<std::vector<std::vector<double>>> TwoPasses(const std::string& text, Phase phase,
                                                        int threads) {
  const ThreadCount count(threads);
  DataNet net(BodyOf(text), DataMode::kOpen, phase);
  std::vector<float> data(10000, 0.5f), labels(2, 1);
  if (NetOf(text).layer(0).type() == "MemoryData")
    FindMemorySource(*net.operator->(), "input").SetSamples(data.data(), labels.data(), 2);
  std::vector<std::vector<std::vector<double>>> passes;
  for (int pass = 0; pass < 2; ++pass) {
    net->Forward();
    passes.push_back(net.Tops());
  }
  return passes;
}

// Expects the tops to have the wanted sizes and labels.
void ExpectWish(const SourceWish& wish, const SourceRow& row,
                const std::vector<std::vector<double>>& tops) {
  ASSERT_EQ(tops.size(), wish.tops.size());
  EXPECT_EQ(static_cast<int64_t>(tops[0].size()), wish.batch * wish.sample.count());
  for (const double value : tops[0]) EXPECT_LT(std::abs(value), 60);
  if (row.labels == SourceRow::kObjects || tops.size() < 2) return;
  const bool pixels = row.labels == SourceRow::kPerPixel;
  const size_t last = pixels ? 2 : tops.size();
  for (size_t i = 1; i < last; ++i) {
    EXPECT_EQ(static_cast<int64_t>(tops[i].size()),
              wish.batch * (pixels ? wish.sample.count(1) : 1));
    for (const double label : tops[i]) {
      EXPECT_GE(label, 0);
      EXPECT_LT(label, static_cast<double>(wish.classes));
      EXPECT_EQ(label, std::floor(label));
    }
  }
}

// Makes `draws` draws of a row, and expects the layers to deliver what is wanted, the same
// with 1 and with 3 threads.
void ExpectDelivery(const std::string& name, uint64_t draws) {
  const SourceRow& row = *SourceRows::Get().Find(name);
  int drawn = 0;
  for (uint64_t seed = 0; seed < draws; ++seed) {
    const Phase phase = seed % 2 == 0 ? TRAIN : TEST;
    Draw draw(seed, name);
    const SourceWish wish = DrawWish(&draw, row, phase);
    const std::string text = row.draw(&draw, wish);
    if (text.empty()) continue;
    ++drawn;
    SCOPED_TRACE(text);
    ASSERT_NO_THROW({
      MakeDataFiles(NetOf(text), wish.folder);
      const auto passes = TwoPasses(text, phase, 1);
      ExpectWish(wish, row, passes[0]);
      EXPECT_EQ(TwoPasses(text, phase, 3), passes);
    });
  }
  EXPECT_GT(drawn, 0) << name;
}

TEST(SourceRows, DeliverWhatIsWantedWithAnyNumberOfThreads) {
  for (const std::string& name : SourceRows::Get().Names()) {
    if (name != "VideoData") ExpectDelivery(name, 40);
  }
}

TEST(SourceRows, DeliverFramesOfVideos) {
  for (const char* program : {"ffmpeg", "ffprobe"}) {
    const std::string command = std::string("command -v ") + program + " >/dev/null";
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << "no program " << program;
  }
  ExpectDelivery("VideoData", 10);
}

// ---- Fields ------------------------------------------------------------------------------------

using FieldSet = std::set<std::string>;  // "ResizeParameter.height"

std::string NameOf(const FieldDescriptor* field) {
  return field->containing_type()->name() + "." + field->name();
}

void AddFields(const Message& message, FieldSet* set) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    set->insert(NameOf(field));
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) AddFields(message.GetReflection()->GetMessage(message, field), set);
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 0;
    for (int i = 0; i < count; ++i)
      AddFields(message.GetReflection()->GetRepeatedMessage(message, field, i), set);
  }
}

// Adds the fields of a message, and of those in it, that are neither in `drawn` nor, by their
// paths, in `skipped`.
void AddMissing(const Descriptor& message, const std::string& path, const FieldSet& drawn,
                const std::set<std::string>& skipped, std::set<const Descriptor*>* seen,
                std::vector<std::string>* missing) {
  if (!seen->insert(&message).second) return;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* const field = message.field(i);
    const std::string at = path + "." + field->name();
    if (skipped.count(at) > 0) continue;
    if (drawn.count(NameOf(field)) == 0) {
      missing->push_back(at);
    } else if (field->message_type() != nullptr) {
      AddMissing(*field->message_type(), at, drawn, skipped, seen, missing);
    }
  }
}

// Returns the paths of fields that a layer type leaves out or ignores.
std::set<std::string> SkippedBy(const std::string& type) {
  std::set<std::string> skipped;
  for (const auto& [path, reason] : LayerRows::Get().Find(type)->left_out) skipped.insert(path);
  for (const std::string& path : LayerTypes::Get().Find(type)->ignored_fields) skipped.insert(path);
  return skipped;
}

// coverage_test checks the fields of a layer's own messages, and this test those of all messages
// inside them as well.
TEST(SourceRows, DrawEachFieldOfTheirLayers) {
  constexpr uint64_t kManyDraws = 2000;
  std::map<std::string, FieldSet> drawn;  // by layer type
  for (const std::string& name : SourceRows::Get().Names()) {
    const SourceRow& row = *SourceRows::Get().Find(name);
    for (uint64_t seed = 0; seed < kManyDraws; ++seed) {
      Draw draw(seed, name);
      const std::string text = row.draw(&draw, DrawWish(&draw, row, TRAIN));
      if (text.empty()) continue;
      const LayerParameter layer = NetOf(text).layer(0);
      AddFields(layer, &drawn[layer.type()]);
    }
  }
  for (const auto& [type, fields] : drawn) {
    const LayerRow* const row = LayerRows::Get().Find(type);
    ASSERT_NE(row, nullptr) << type;
    EXPECT_EQ(row->place, LayerRow::kSource) << type;
    const std::set<std::string> skipped = SkippedBy(type);
    std::vector<std::string> missing;
    std::set<const Descriptor*> seen;
    for (const std::string& message : ReadMessages(type)) {
      if (skipped.count(message) > 0) continue;
      const auto* const field = LayerParameter::descriptor()->FindFieldByName(message);
      AddMissing(*field->message_type(), message, fields, skipped, &seen, &missing);
    }
    EXPECT_EQ(missing, std::vector<std::string>()) << type;
  }
}

}  // namespace
}  // namespace doppio
