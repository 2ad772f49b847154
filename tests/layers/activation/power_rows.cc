// Rows of Power, Exp and Log. Layers before them keep their arguments where the result is real and
// of about unit size.
#include <string>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

// Adds a layer behind `blob`, if it exists, sometimes in place.
bool AddPowerOp(NetDraft* draft, const std::string& type, const std::optional<DraftBlob>& blob,
                const std::string& fields) {
  return blob && draft->Add(DrawnLayer(type, {blob->name}, fields, draft->draw().Chance(0.4)));
}

bool DrawPower(NetDraft* draft) {
  Draw& draw = draft->draw();
  std::optional<DraftBlob> blob = AnyDrawnValues(draft);
  if (!blob) return false;
  DrawnMessage fields(draft);
  switch (draw.Int(0, 9)) {
    case 0:
      // The result is a constant.
      fields.Maybe("power", {"0"}).Set("scale", 0).Set("shift", 0.5);
      break;
    case 1:
    case 2:
    case 3:
      // A whole power is real for all arguments.
      blob = Squashed(draft, *blob);
      fields.Set("power", draw.Int(2, 3)).MaybeReal("scale", -1, 1).MaybeReal("shift", -1, 1);
      break;
    case 4:
    case 5:
    case 6:
      blob = SquashedInto(draft, *blob, 0.25, 2);
      fields.Set("power", draw.Of<std::string>({"0.5", "-0.5", "1.5", "-1", "0.75", "0"}));
      fields.MaybeReal("scale", 0.5, 1.2).MaybeReal("shift", 0, 0.5);
      break;
    default:
      fields.Maybe("power", {"1"}).MaybeReal("scale", -1.2, 1.2).MaybeReal("shift", -1, 1);
  }
  return AddPowerOp(draft, "Power", blob, fields.In("power_param"));
}

bool DrawExp(NetDraft* draft) {
  std::optional<DraftBlob> blob = AnyDrawnValues(draft);
  if (blob) blob = Squashed(draft, *blob);
  return AddPowerOp(draft, "Exp", blob,
                    DrawnMessage(draft)
                        .Maybe("base", {"-1", "2", "0.5", "3", "1.01"})
                        .MaybeReal("scale", -1, 1)
                        .MaybeReal("shift", -0.5, 0.5)
                        .In("exp_param"));
}

bool DrawLog(NetDraft* draft) {
  std::optional<DraftBlob> blob = AnyDrawnValues(draft);
  if (blob) blob = SquashedInto(draft, *blob, 0.25, 3);
  return AddPowerOp(draft, "Log", blob,
                    DrawnMessage(draft)
                        .Maybe("base", {"-1", "2", "0.4", "10"})
                        .MaybeReal("scale", 0.5, 1.5)
                        .MaybeReal("shift", 0, 1)
                        .In("log_param"));
}

DOPPIO_REGISTER(LayerRows, "Power", {&DrawPower});
DOPPIO_REGISTER(LayerRows, "Exp", {&DrawExp});
DOPPIO_REGISTER(LayerRows, "Log", {&DrawLog});

}  // namespace
}  // namespace doppio
