#include "data/source/open_source.h"

#include "core/base/file.h"
#include "data/source/database_facts.h"
#include "proto/data.pb.h"

namespace doppio {

std::unique_ptr<Source> OpenSource(const DataParameter& parameter, Phase phase) {
  const std::string& backend = DataParameter::DB_Name(parameter.backend());
  const SourceType* type = Sources::Get().Find(backend);
  if (type == nullptr) {
    std::string known;
    for (const std::string& name : Sources::Get().Names()) known += " " + name;
    throw UserError({}, "data_param: backend ", backend, " is not in this build; it has", known);
  }
  RefuseIf(!parameter.has_source() && type->needs_source, "data_param: backend ", backend,
           " needs a source");
  return WithinMemory(parameter.source(), [&] { return type->open(parameter, phase); });
}

DeclaredFacts DeclaredFactsOf(const DataParameter& parameter,
                              const TransformationParameter& transform) {
  const SourceType* type = Sources::Get().Find(DataParameter::DB_Name(parameter.backend()));
  if (type != nullptr && type->declare != nullptr) return type->declare(parameter);
  DeclaredFacts declared;
  declared.sure = transform.mean_value_size() > 1;
  declared.facts.image.channels = declared.sure            ? transform.mean_value_size()
                                  : transform.force_gray() ? 1
                                                           : 3;
  declared.facts.channels = ChannelsOfDatabaseName(parameter.source());
  declared.facts.decode.emplace();
  return declared;
}

}  // namespace doppio
