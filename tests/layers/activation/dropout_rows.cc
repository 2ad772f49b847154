// Rows of Dropout, SpatialDropout and SeLuDropout.
#include <string>
#include <vector>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

// Ratios for which the kept values stay of about unit size.
const std::vector<std::string>& DropoutRatios() {
  static const std::vector<std::string> ratios = {"0", "0.1", "0.25", "0.5", "0.7"};
  return ratios;
}

bool AddDropout(NetDraft* draft, const std::string& type, const std::string& fields) {
  const auto blob = AnyDrawnValues(draft, type == "SpatialDropout" ? 2 : 1);
  return blob && draft->Add(DrawnLayer(type, {blob->name}, fields, draft->draw().Chance(0.5)));
}

bool DrawDropout(NetDraft* draft) {
  DrawnMessage fields(draft);
  fields.Maybe("dropout_ratio", DropoutRatios())
      .Maybe("engine", ForkEngines())
      .Maybe("random_seed", {"-1", "0", "1", "4294967297"});
  if (draft->draw().Chance(0.3)) fields.MaybeBool("sample_weights_test");
  if (draft->draw().Chance(0.3)) fields.MaybeBool("scale_train");
  if (draft->draw().Chance(0.3)) fields.MaybeBool("whole_samples");
  return AddDropout(draft, "Dropout", fields.In("dropout_param"));
}

bool DrawSpatialDropout(NetDraft* draft) {
  return AddDropout(
      draft, "SpatialDropout",
      DrawnMessage(draft).Maybe("dropout_ratio", DropoutRatios()).In("spatial_dropout_param"));
}

bool DrawSeluDropout(NetDraft* draft) {
  return AddDropout(draft, "SeLuDropout",
                    DrawnMessage(draft)
                        .Maybe("dropout_ratio", DropoutRatios())
                        .MaybeReal("alpha", -2, 0.5)
                        .In("selu_dropout_param"));
}

DOPPIO_REGISTER(LayerRows, "Dropout", {&DrawDropout, LayerRow::kRandom});
DOPPIO_REGISTER(LayerRows, "SpatialDropout", {&DrawSpatialDropout, LayerRow::kRandom, 0.5});
DOPPIO_REGISTER(LayerRows, "SeLuDropout", {&DrawSeluDropout, LayerRow::kRandom, 0.5});

}  // namespace
}  // namespace doppio
