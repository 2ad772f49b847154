#include "data/source.h"

#include "proto/data.pb.h"

namespace doppio {

std::unique_ptr<Source> OpenSource(const DataParameter& parameter, Phase phase) {
  const std::string& backend = DataParameter::DB_Name(parameter.backend());
  const SourceOpener* open = Sources::Get().Find(backend);
  if (open == nullptr) {
    std::string known;
    for (const std::string& name : Sources::Get().Names()) known += " " + name;
    throw UserError({}, "data_param: backend " + backend + " is not in this build; it has" + known);
  }
  if (!parameter.has_source() && parameter.backend() != DataParameter::DIGITS) {
    throw UserError({}, "data_param: backend " + backend + " needs a source");
  }
  return (*open)(parameter, phase);
}

}  // namespace doppio
