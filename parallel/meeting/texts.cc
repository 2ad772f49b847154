#include "parallel/meeting/texts.h"

#include <cstdint>

namespace doppio {

std::string BroadcastText(Communicator* control, const std::string& text, int root) {
  int64_t bytes = static_cast<int64_t>(text.size());
  control->Broadcast(&bytes, sizeof bytes, root);
  std::string shared = text;
  shared.resize(bytes);
  if (bytes > 0) control->Broadcast(shared.data(), bytes, root);
  return shared;
}

std::vector<std::string> GatherTexts(Communicator* control, const std::string& own) {
  std::vector<double> filled(control->size(), 0);
  filled[control->rank()] = own.empty() ? 0 : 1;
  control->AllReduce(filled.data(), control->size(), DType::kFloat64);
  std::vector<std::string> texts(filled.size());
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    if (filled[rank] > 0) texts[rank] = BroadcastText(control, own, static_cast<int>(rank));
  }
  return texts;
}

}  // namespace doppio
