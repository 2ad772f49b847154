#include "core/device/candidates.h"

#include <utility>

namespace doppio {
namespace {

constexpr char kIs[] = " = ";

void AddText(std::string* text, const char* separator, const std::string& more) {
  if (!text->empty()) *text += separator;
  *text += more;
}

}  // namespace

std::string CandidateChoice::Declined(size_t first) const {
  std::string text;
  for (size_t i = first; i < rows.size(); ++i) {
    if (!rows[i].trial.declined.empty())
      AddText(&text, "; ", rows[i].name + ": " + rows[i].trial.declined);
  }
  return text;
}

std::string CandidateChoice::Others() const {
  std::string text = Declined(), lost;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<int>(i) == chosen || !rows[i].trial.declined.empty()) continue;
    const std::string& detail = rows[i].trial.detail;
    AddText(&lost, ", ", rows[i].name + (detail.empty() ? "" : " (" + detail + ")"));
  }
  if (!lost.empty()) AddText(&text, "; ", "not better: " + lost);
  return text;
}

CandidateChoice ChooseAmong(const std::string& what, const std::vector<Candidate>& candidates,
                            const std::string& preferred) {
  CandidateChoice choice;
  choice.what = what;
  for (const Candidate& candidate : candidates)
    choice.rows.push_back({candidate.name, false, CandidateTrial()});
  const auto attempt = [&](size_t i) {
    CandidateChoice::Row& row = choice.rows[i];
    row.tried = true;
    row.trial = candidates[i].attempt();
    return row.trial.declined.empty();
  };
  for (size_t i = 0; i < candidates.size() && !preferred.empty(); ++i) {
    if (candidates[i].name != preferred || !attempt(i)) continue;
    choice.chosen = static_cast<int>(i);
    return choice;
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const CandidateTrial* const best =
        choice.chosen < 0 ? nullptr : &choice.rows[choice.chosen].trial;
    if (choice.rows[i].tried || (best != nullptr && candidates[i].least_cost >= best->cost))
      continue;
    if (!attempt(i) || (best != nullptr && choice.rows[i].trial.cost >= best->cost)) continue;
    choice.chosen = static_cast<int>(i);
  }
  return choice;
}

void MeasuredChoices::Replay(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const size_t at = line.rfind(kIs);
    if (at != std::string::npos) replayed_[line.substr(0, at)] = line.substr(at + sizeof(kIs) - 1);
  }
}

std::optional<std::string> MeasuredChoices::Find(const std::string& key) const {
  const auto found = replayed_.find(key);
  if (found == replayed_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> MeasuredChoices::lines() const {
  std::vector<std::string> lines;
  for (const auto& [key, choice] : used_) lines.push_back(key + kIs + choice);
  return lines;
}

CandidateChoice ChooseMeasured(MeasuredChoices* measured, const std::string& key,
                               const std::string& what, const std::vector<Candidate>& candidates) {
  CandidateChoice choice = ChooseAmong(what, candidates, measured->Find(key).value_or(""));
  if (choice.chosen >= 0) measured->Note(key, choice.rows[choice.chosen].name);
  return choice;
}

}  // namespace doppio
