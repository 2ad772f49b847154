#include "tests/random/relation_run.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "tests/random/child.h"
#include "tests/random/relation.h"
#include "tests/random/silent_log.h"

namespace doppio {
namespace {

constexpr char kThrew[] = "threw: ", kEnded[] = "ended by ";
constexpr char kDefect[] = "internal error: ";  // DOPPIO_CHECK, followed by its place

void Remove(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace

std::string CheckRelation(const std::string& name, const RandomCase& random_case, uint64_t draw,
                          const std::string& folder) {
  const Relation* const relation = Relations::Get().Find(name);
  if (relation == nullptr)
    throw UsageError("no relation '" + name + "'" + DidYouMean(name, Relations::Get().Names()));
  if (!relation->applies(random_case)) return "";
  const SilentLog silent;
  std::filesystem::create_directories(folder);
  Draw choices(draw, name);
  std::string why;
  try {
    why = relation->check(random_case, &choices, folder);
  } catch (const std::exception& e) {
    why = std::string(kThrew) + e.what();
  }
  Remove(folder);
  return why;
}

std::string CheckInChild(const std::string& relation, const RandomCase& random_case, uint64_t draw,
                         double seconds) {
  const ScratchFolder scratch;
  Child child([&](const SendLine& send) {
    send(CheckRelation(relation, random_case, draw, scratch.path() + "/case"));
  });
  const std::optional<std::string> why = child.Next(seconds);
  return why ? *why : kEnded + child.failure();
}

std::string KindOfFailure(const std::string& text) {
  // The place of an internal error, such as "dtype.h:45:", ends at the first space behind its name.
  const size_t defect = text.find(kDefect);
  if (defect != std::string::npos)
    return text.substr(0, text.find(' ', defect + std::strlen(kDefect)));
  for (const char* kind : {kThrew, kEnded}) {
    if (text.rfind(kind, 0) == 0) return kind;
  }
  if (text.empty()) return "";
  return text.find("refuse") == std::string::npos ? "numbers" : "refusal";
}

ScratchFolder::ScratchFolder() {
  const char* base = std::getenv("TEST_TMPDIR");
  if (base == nullptr) base = std::getenv("TMPDIR");
  path_ = std::string(base == nullptr ? "/tmp" : base) + "/randomXXXXXX";
  if (mkdtemp(&path_[0]) == nullptr)
    throw FileError("cannot make a folder '" + path_ + "': " + std::strerror(errno));
}

ScratchFolder::~ScratchFolder() { Remove(path_); }

}  // namespace doppio
