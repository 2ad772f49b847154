#include "tools/data/databases.h"

#include <cctype>

#include "data/source/database_writer.h"
#include "data/source/open_source.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

std::string Convert(std::string text, int (*convert)(int)) {
  for (char& c : text) c = static_cast<char>(convert(static_cast<unsigned char>(c)));
  return text;
}

// Returns the registered names as "leveldb or lmdb".
template <class Value>
std::string Known(const Registry<Value>& registry) {
  std::string known;
  for (const std::string& name : registry.Names()) {
    const char* comma = known.empty() ? "" : name == registry.Names().back() ? " or " : ", ";
    known += comma + Convert(name, &std::tolower);
  }
  return known;
}

}  // namespace

std::string DatabaseBackend(const std::string& name, const std::string& what) {
  const std::string upper = Convert(name, &std::toupper);
  if (DatabaseFormats::Get().Find(upper) != nullptr) return upper;
  throw UsageError(what, " needs ", Known(DatabaseFormats::Get()), "; got '", name, "'");
}

std::unique_ptr<Source> OpenDatabase(const std::string& backend, const std::string& path,
                                     Phase phase) {
  DataParameter parameter;
  DataParameter::DB known;
  if (!DataParameter::DB_Parse(Convert(backend, &std::toupper), &known)) {
    throw UsageError("--backend needs ", Known(Sources::Get()), "; got '", backend, "'");
  }
  parameter.set_backend(known);
  parameter.set_source(path);
  return OpenSource(parameter, phase);
}

}  // namespace doppio
