// The sources of random nets.
#include <algorithm>
#include <optional>

#include "core/net/spec/prototxt.h"
#include "tests/random/compose.h"
#include "tests/random/source_row.h"

namespace doppio {
namespace {

// The most values in a batch of images.
constexpr int64_t kMostValues = 8000;

// Returns a shape of images, channels x height x width.
Shape DrawSample(Draw* draw, int64_t batch) {
  const int64_t channels = draw->Chance(0.55) ? draw->Of<int64_t>({3, 3, 1}) : draw->Extent(17);
  const auto side = [&] { return draw->Chance(0.7) ? draw->Int(5, 14) : draw->Extent(20); };
  int64_t rows = side(), columns = side();
  if (draw->Chance(0.15)) rows = columns;
  if (draw->Chance(0.08)) rows = columns = 1;
  while (batch * channels * rows * columns > kMostValues) {
    int64_t& longer = rows > columns ? rows : columns;
    longer = (longer + 1) / 2;
  }
  return Shape{channels, rows, columns};
}

// Returns the layer of a row's text, which may be the body of a layer or "layer { ... }".
LayerParameter ParseSource(const std::string& text, const SourceWish& wish) {
  NetParameter net;
  const bool whole = text.rfind("layer", 0) == 0;
  ParseText(whole ? text : "layer { " + text + " }", "the source '" + wish.name + "'", &net);
  DOPPIO_CHECK(net.layer_size() == 1, text);
  return net.layer(0);
}

// Returns the sources that can be drawn.
std::vector<std::string> SourceNames() {
  std::vector<std::string> names;
  for (const std::string& name : SourceRows::Get().Names()) {
    if ((SourceRows::Get().Find(name)->traits & LayerRow::kOutside) == 0) names.push_back(name);
  }
  return names;
}

// Draws the layer of a source that fulfils the wish, usually of the kind `name`. Sets `name` to its
// kind. `labels` are what the tops behind the images must hold. Returns nothing if it finds no
// such source.
std::optional<LayerParameter> DrawSource(Draw* draw, SourceRow::Labels labels,
                                         const SourceWish& wish, std::string* name) {
  const std::vector<std::string> names = SourceNames();
  const int tops = static_cast<int>(wish.tops.size());
  for (int tries = 0; tries < 500; ++tries) {
    if (name->empty() || tries > 20 || draw->Chance(0.3)) *name = draw->Of(names);
    const SourceRow& row = *SourceRows::Get().Find(*name);
    const bool fits = tops == 1 || row.labels == labels;
    if (!fits || tops < row.least_tops || tops > row.most_tops) continue;
    const std::string text = row.draw(draw, wish);
    if (!text.empty()) return ParseSource(text, wish);
  }
  return std::nullopt;
}

// Returns what a source's tops hold. Objects are not offered to layers, because their number is
// known only to the source.
std::vector<DraftBlob> TopsOf(const SourceWish& wish, SourceRow::Labels labels) {
  std::vector<DraftBlob> tops;
  for (size_t i = 0; i < wish.tops.size(); ++i) {
    DraftBlob blob;
    blob.name = wish.tops[i];
    blob.shape.push_back(wish.batch);
    if (i == 0) {
      for (int64_t extent : wish.sample.dims()) blob.shape.push_back(extent);
    } else {
      if (labels == SourceRow::kObjects) break;
      const bool sizes = labels == SourceRow::kPerPixel && i > 1;
      blob.kind = sizes ? BlobKind::kOther : BlobKind::kLabels;
      blob.classes = wish.classes;
      if (labels == SourceRow::kPerPixel && i == 1)
        blob.shape = Shape{wish.batch, 1, wish.sample[1], wish.sample[2]};
      if (sizes) blob.shape = Shape{wish.batch, 1, 1, 2};
    }
    tops.push_back(blob);
  }
  return tops;
}

// Draws the layers of a source for both phases: one, or one for each. Returns none if it finds no
// source whose tops hold `labels`.
std::vector<LayerParameter> DrawLayers(const NetPlan& plan, SourceRow::Labels labels,
                                       SourceWish wish, Draw* draw) {
  std::string name;
  std::vector<LayerParameter> layers;
  if (plan.batch == plan.test_batch && draw->Chance(0.5)) {
    if (const auto layer = DrawSource(draw, labels, wish, &name)) layers.push_back(*layer);
    return layers;
  }
  for (Phase phase : {TRAIN, TEST}) {
    wish.batch = phase == TRAIN ? plan.batch : plan.test_batch;
    wish.phase = "include { phase: " + Phase_Name(phase) + " }";
    const auto layer = DrawSource(draw, labels, wish, &name);
    if (!layer) return {};
    layers.push_back(*layer);
  }
  return layers;
}

// Draws what the tops behind the images hold.
SourceRow::Labels DrawLabels(const NetPlan& plan, Draw* draw) {
  // Regions come from single images.
  const bool single = plan.batch == 1 && plan.test_batch == 1;
  if (draw->Chance(single ? 0.3 : 0.05)) return SourceRow::kObjects;
  return draw->Chance(0.12) ? SourceRow::kPerPixel : SourceRow::kPerSample;
}

// Returns the names of the tops of such a source. Names of several sources end with `suffix`.
std::vector<std::string> DrawTopNames(SourceRow::Labels labels, const std::string& suffix,
                                      Draw* draw) {
  const bool more = draw->Chance(labels == SourceRow::kPerSample ? 0.1 : 0.5);
  std::vector<std::string> names = {"data" + suffix};
  if (labels == SourceRow::kObjects) {
    if (more) names.push_back("info" + suffix);
    names.push_back("objects" + suffix);
  } else if (draw->Chance(0.92)) {
    names.push_back("label" + suffix);
    if (more) names.push_back((labels == SourceRow::kPerPixel ? "size" : "second_label") + suffix);
  }
  return names;
}

void AddSourceOfImages(const NetPlan& plan, const std::string& suffix, NetDraft* draft) {
  Draw& draw = draft->draw();
  SourceWish wish;
  wish.folder = "data/";
  wish.name = "data" + suffix;
  wish.batch = plan.batch;
  wish.sample = DrawSample(&draw, std::max(plan.batch, plan.test_batch));
  wish.classes = plan.classes;
  wish.records = plan.records;
  SourceRow::Labels labels = DrawLabels(plan, &draw);
  wish.tops = DrawTopNames(labels, suffix, &draw);
  DraftSource source;
  source.layers = DrawLayers(plan, labels, wish, &draw);
  if (source.layers.empty()) {  // any shape has sources of labels per sample
    labels = SourceRow::kPerSample;
    wish.tops = {"data" + suffix, "label" + suffix};
    source.layers = DrawLayers(plan, labels, wish, &draw);
  }
  DOPPIO_CHECK(!source.layers.empty(), "no source has samples of " + wish.sample.ToString());
  source.tops = TopsOf(wish, labels);
  draft->AddSource(source);
}

}  // namespace

void AddSources(const NetPlan& plan, NetDraft* draft) {
  Draw& draw = draft->draw();
  draft->set_records(draw.Chance(0.8) ? plan.records : plan.records + 3);
  AddSourceOfImages(plan, "", draft);
  if (draw.Chance(0.2)) AddSourceOfImages(plan, "2", draft);
  for (int64_t more = draw.Of<int64_t>({0, 0, 0, 1, 1, 2}); more > 0; --more) {
    Extra values;
    values.shared = true;
    const int64_t axes = draw.Of<int64_t>({0, 1, 1, 2, 2, 4});
    for (int64_t axis = 0; axis < axes; ++axis)
      values.sample.push_back(draw.Extent(axes == 1 ? 33 : axes == 2 ? 9 : 4));
    draft->Numbers(values);
  }
}

}  // namespace doppio
