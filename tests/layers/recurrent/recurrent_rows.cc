// Rows of RNN, LSTM and LSTMUnit.
#include <cmath>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

constexpr int64_t kMostDrawnSteps = 40;

// The bottoms of RNN and LSTM: values of steps x streams x ..., and marks of steps x streams.
struct DrawnSequence {
  DraftBlob values, marks;
  // The streams are the samples of a batch, and the steps are its channels. If false, the steps are
  // the samples, and the streams the channels.
  bool streams_are_samples = false;
};

std::optional<DraftBlob> Swapped(NetDraft* draft, const DraftBlob& blob) {
  return AddDrawn(draft, DrawnLayer("Permute", {blob.name}, "permute_param { order: 1 order: 0 }"));
}

std::optional<DrawnSequence> DrawSequence(NetDraft* draft, bool streams_are_samples) {
  const auto blob = draft->Find([](const DraftBlob& b) {
    return HasValues(b) && b.rows && b.shape.rank() >= 2 && b.shape[1] <= kMostDrawnSteps;
  });
  if (!blob) return std::nullopt;
  const DraftBlob marks = draft->Numbers({"marks", 0, 1, {blob->shape[1]}});
  if (!streams_are_samples) return DrawnSequence{*blob, marks, false};
  const auto values = Swapped(draft, *blob), swapped_marks = Swapped(draft, marks);
  if (!values || !swapped_marks) return std::nullopt;
  return DrawnSequence{*values, *swapped_marks, true};
}

// Returns a state before the first step, 1 x samples x `hidden`, of layers behind other values.
std::optional<DraftBlob> DrawState(NetDraft* draft, int64_t hidden) {
  const auto blob = draft->Values(2);
  if (!blob) return std::nullopt;
  auto state = Projected(draft, *blob, hidden);
  if (state && draft->draw().Chance(0.5)) state = Squashed(draft, *state);
  return state ? WithFirstAxis(draft, *state) : std::nullopt;
}

std::string RecurrentFields(NetDraft* draft, int64_t inputs, int64_t hidden, bool exposed) {
  const double size = 1 / std::sqrt(static_cast<double>(inputs + hidden));
  DrawnMessage fields(draft);
  fields.Set("num_output", hidden).Add(draft->Filler("weight_filler", size));
  fields.MaybeFiller("bias_filler").MaybeBool("debug_info");
  if (exposed || draft->draw().Chance(0.3)) fields.Set("expose_hidden", exposed);
  return fields.In("recurrent_param");
}

// Adds layers that give tops with streams that are samples a row per sample again.
bool RestoreRows(NetDraft* draft, const std::vector<DraftBlob>& tops) {
  if (draft->draw().Chance(0.8) && !Swapped(draft, tops[0])) return false;
  for (size_t i = 1; i < tops.size(); ++i) {
    if (draft->draw().Chance(0.7) && !WithoutFirstAxis(draft, tops[i])) return false;
  }
  return true;
}

bool DrawRecurrent(NetDraft* draft, const std::string& type) {
  Draw& draw = draft->draw();
  const int states = type == "LSTM" ? 2 : 1;
  const auto sequence = DrawSequence(draft, draw.Chance(0.6));
  if (!sequence) return false;
  const int64_t hidden = draw.Extent(17);
  const bool exposed = sequence->streams_are_samples && draw.Chance(0.4);
  std::vector<std::string> bottoms = {sequence->values.name, sequence->marks.name};
  // A static input has a row per stream.
  if (sequence->streams_are_samples && draw.Chance(0.4)) {
    const auto fixed = draft->Values(1);
    if (fixed) bottoms.push_back(fixed->name);
  }
  for (int state = 0; exposed && state < states; ++state) {
    const auto first = DrawState(draft, hidden);
    if (!first) return false;
    bottoms.push_back(first->name);
  }
  const int64_t inputs = sequence->values.shape.count(2);
  NetDraft::Layer layer =
      DrawnLayer(type, bottoms, RecurrentFields(draft, inputs, hidden, exposed));
  layer.tops = exposed ? 1 + states : 1;
  if (!draft->Add(layer)) return false;
  return !sequence->streams_are_samples || RestoreRows(draft, draft->tops());
}
bool DrawLstm(NetDraft* draft) { return DrawRecurrent(draft, "LSTM"); }
bool DrawRnn(NetDraft* draft) { return DrawRecurrent(draft, "RNN"); }

bool DrawLstmUnit(NetDraft* draft) {
  const int64_t hidden = draft->draw().Extent(17);
  const auto cells = DrawState(draft, hidden), gates = DrawState(draft, 4 * hidden);
  if (!cells || !gates) return false;
  const auto marks = WithFirstAxis(draft, draft->Numbers({"marks", 0, 1, {}}));
  if (!marks) return false;
  NetDraft::Layer layer = DrawnLayer("LSTMUnit", {cells->name, gates->name, marks->name});
  layer.tops = 2;
  if (!draft->Add(layer)) return false;
  for (const DraftBlob& top : draft->tops()) {
    if (draft->draw().Chance(0.8) && !WithoutFirstAxis(draft, top)) return false;
  }
  return true;
}

unsigned RecurrentTraits(const LayerParameter& layer) {
  return LayerRow::kWholeBatch |
         (layer.recurrent_param().expose_hidden() ? 0u : unsigned{LayerRow::kState});
}

// The samples are steps of one sequence, unless they are streams.
DOPPIO_REGISTER(LayerRows, "LSTM",
                {&DrawLstm,
                 LayerRow::kWholeBatch | LayerRow::kState,
                 0.7,
                 {},
                 LayerRow::kInner,
                 &RecurrentTraits});
DOPPIO_REGISTER(LayerRows, "RNN",
                {&DrawRnn,
                 LayerRow::kWholeBatch | LayerRow::kState,
                 0.7,
                 {},
                 LayerRow::kInner,
                 &RecurrentTraits});
DOPPIO_REGISTER(LayerRows, "LSTMUnit", {&DrawLstmUnit, 0, 0.5});

}  // namespace
}  // namespace doppio
