#include "parallel/meeting/limits.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/testing/scoped_variable.h"

namespace doppio {
namespace {

// Returns the cells of a row of the manual, but the last one, which explains the limit.
std::string RowText(const LimitRow& row) {
  const std::string set_by = row.set_by;
  const std::string quote = set_by.compare(0, 2, "--") == 0 ? "`" : "";
  std::ostringstream text;
  text << "| " << row.name << " | " << row.seconds << " | "
       << (set_by.empty() ? "fixed" : quote + set_by + quote) << "\n";
  return text.str();
}

TEST(Limits, AreThoseOfTheManual) {
  std::string rows;
  for (const LimitRow& row : kLimits) rows += RowText(row);
  std::ifstream manual("docs/parallel.md");
  std::string line, shown;
  while (std::getline(manual, line) && line.compare(0, 8, "| limit ") != 0) continue;
  std::getline(manual, line);  // below the head
  while (std::getline(manual, line) && !line.empty())
    shown += line.substr(0, line.rfind(" | ")) + "\n";
  EXPECT_EQ(shown, rows);
}

TEST(Limits, ComeFromTheEnvironmentIfItHasAPositiveNumber) {
  for (const auto& [value, seconds] : {std::pair{"2.5", 2.5}, {"0", 180}, {"soon", 180}}) {
    const ScopedVariable set("DOPPIO_RENDEZVOUS_TIMEOUT", value);
    EXPECT_EQ(SecondsFromEnvironment(Limit::kRendezvous), seconds) << value;
  }
}

}  // namespace
}  // namespace doppio
