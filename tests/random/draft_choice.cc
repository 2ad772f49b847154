// The choices of a draft: which blobs layers read, and the fillers of their parameters.
#include <algorithm>

#include "tests/random/layer_row.h"
#include "tests/random/net_draft.h"

namespace doppio {
namespace {

using Candidates = std::vector<const DraftBlob*>;

void KeepLearning(Candidates* candidates) {
  const auto idle = [](const DraftBlob* blob) { return !blob->learns; };
  candidates->erase(std::remove_if(candidates->begin(), candidates->end(), idle),
                    candidates->end());
}

bool AnyLearns(const Candidates& candidates) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [](const DraftBlob* blob) { return blob->learns; });
}

// Returns true if layers of the type treat rows independently, and so may read blobs of a Filter. A
// loss would also need its labels from the same Filter.
bool TakesVaryingRows(const std::string& type) {
  const LayerType* known = LayerTypes::Get().Find(type);
  const LayerRow* row = LayerRows::Get().Find(type);
  return known != nullptr && known->row_by_row && row != nullptr && row->place == LayerRow::kInner;
}

std::string NumberField(const std::string& name, double value) {
  return " " + name + ": " + std::to_string(value);
}

}  // namespace

void NetDraft::Begin(const std::string& type) {
  drawn_type_ = type;
  takes_varying_ = TakesVaryingRows(type);
  filter_.reset();
}

// The layer that is drawn reads blobs of one Filter only, or of none.
bool NetDraft::Offers(const DraftBlob& blob) const {
  if (blob.extra) return false;
  return filter_ ? blob.filter == *filter_ : blob.filter.empty() || takes_varying_;
}

std::optional<DraftBlob> NetDraft::Find(const std::function<bool(const DraftBlob&)>& fits) {
  Candidates fresh, used;
  for (const DraftBlob& blob : blobs_) {
    if (Offers(blob) && fits(blob)) (blob.read && !blob.open ? used : fresh).push_back(&blob);
  }
  if (prefers_learning_ && (AnyLearns(fresh) || AnyLearns(used))) {
    KeepLearning(&fresh);
    KeepLearning(&used);
  }
  if (fresh.empty() && used.empty()) return std::nullopt;
  const bool newest = follows_ && !fresh.empty() && fresh.back() == &blobs_.back();
  const bool branches = !newest && draw_->Chance(branching_);
  const Candidates& from = used.empty() || (!fresh.empty() && !branches) ? fresh : used;
  // The newest blob makes the net deep.
  const DraftBlob& found = newest || draw_->Chance(0.6) ? *from.back() : *draw_->Of(from);
  if (!filter_) filter_ = found.filter;
  return found;
}

std::optional<DraftBlob> NetDraft::Values(int min_axes, int max_axes) {
  return Find([=](const DraftBlob& blob) {
    return blob.kind == BlobKind::kValues && blob.rows && blob.shape.rank() >= min_axes &&
           blob.shape.rank() <= max_axes;
  });
}

std::optional<DraftBlob> NetDraft::Images(int64_t side) {
  return Find([=](const DraftBlob& blob) {
    return blob.kind == BlobKind::kValues && blob.rows && blob.shape.rank() == 4 &&
           blob.shape[2] >= side && blob.shape[3] >= side;
  });
}

std::optional<DraftBlob> NetDraft::SameShape(const DraftBlob& like) {
  return Find([&](const DraftBlob& blob) {
    return blob.kind == BlobKind::kValues && blob.name != like.name && blob.shape == like.shape &&
           blob.rows == like.rows && blob.filter == like.filter;
  });
}

std::string NetDraft::Filler(const std::string& field, double size) {
  const bool weights = field.find("weight") != std::string::npos;
  const bool planes = weights && (drawn_type_ == "Convolution" || drawn_type_ == "Deconvolution");
  std::vector<std::string> types = {"xavier",   "xavier",   "xavier",
                                    "msra",     "msra",     "uniform",
                                    "gaussian", "constant", "truncated_normal"};
  if (weights) types.push_back("positive_unitball");
  if (planes) types.insert(types.end(), {"gabor", "dirac"});
  if (planes && draw_->Chance(0.2)) types.assign(1, "bilinear");
  const std::string type = draw_->Of(types);
  std::string text = "type: '" + type + "'";
  if (type == "constant") text += NumberField("value", draw_->Real(-size, size));
  if (type == "uniform") text += NumberField("min", -size) + NumberField("max", size);
  if (type == "truncated_normal") text += NumberField("std", size);
  if (type == "dirac" && draw_->Chance(0.5)) text += " groups: 1";
  if (type == "gaussian") {
    text += NumberField("std", size);
    if (draw_->Chance(0.3)) text += NumberField("mean", draw_->Real(-size, size));
    if (draw_->Chance(0.2)) text += " sparse: 1";
  }
  if (type == "gabor") text += NumberField("std", size);
  if (type == "bilinear" && draw_->Chance(0.5)) text += NumberField("scale", draw_->Real(0.2, 1));
  if (type == "xavier" || type == "msra") {
    const std::string norm = draw_->Of<std::string>({"", "", "FAN_IN", "FAN_OUT", "AVERAGE"});
    if (!norm.empty()) text += " variance_norm: " + norm;
  }
  if (type == "msra" && draw_->Chance(0.3)) text += NumberField("alpha", draw_->Real(0, 1));
  return field + " { " + text + " }";
}

}  // namespace doppio
