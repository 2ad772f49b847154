#include "tests/random/data_files.h"

#include <google/protobuf/message.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/random/data_kind.h"

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// A folder in `folder` that no other thread or process has. The destructor removes it.
class AsideFolder {
 public:
  explicit AsideFolder(const std::string& folder) {
    static std::atomic<int> made{0};
    path_ = folder + "/.aside." + std::to_string(getpid()) + "." + std::to_string(made++);
    std::filesystem::create_directories(path_);
  }
  ~AsideFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  AsideFolder(const AsideFolder&) = delete;
  AsideFolder& operator=(const AsideFolder&) = delete;

  const std::string& path() const { return path_; }
  // Moves an entry to `to`, unless another writer of the same folder was faster.
  void Move(const std::string& entry, const std::string& to) const {
    if (std::rename((path_ + "/" + entry).c_str(), to.c_str()) == 0) return;
    if (errno == EEXIST || errno == ENOTEMPTY) return;
    throw FileError("cannot write '" + to + "': " + std::strerror(errno));
  }

 private:
  std::string path_;
};

// Adds the first component of each path below `prefix` in the fields of `message`.
void AddNames(const Message& message, const std::string& prefix, std::set<std::string>* names) {
  const auto add = [&](const std::string& path) {
    if (path.compare(0, prefix.size(), prefix) != 0) return;
    names->insert(path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size()));
  };
  const google::protobuf::Reflection& access = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  access.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? access.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        AddNames(field->is_repeated() ? access.GetRepeatedMessage(message, field, i)
                                      : access.GetMessage(message, field),
                 prefix, names);
      } else if (field->type() == FieldDescriptor::TYPE_STRING) {
        add(field->is_repeated() ? access.GetRepeatedString(message, field, i)
                                 : access.GetString(message, field));
      }
    }
  }
}

void WriteDataFile(const DataName& name, const DataKind& kind, const std::string& folder) {
  const AsideFolder aside(folder);
  kind.write(name, aside.path(), folder);
  std::set<std::string> entries;
  for (const auto& entry : std::filesystem::directory_iterator(aside.path()))
    entries.insert(entry.path().filename().string());
  DOPPIO_CHECK(entries.erase(name.text) == 1, name.text);
  // The file itself comes last: where it is, the files that it needs are, too.
  for (const std::string& entry : entries) aside.Move(entry, folder + "/" + entry);
  aside.Move(name.text, folder + "/" + name.text);
}

}  // namespace

void MakeDataFiles(const NetParameter& net, const std::string& folder) {
  std::set<std::string> names;
  AddNames(net, folder + "/", &names);
  for (const std::string& text : names) {
    const std::optional<DataName> name = DataName::Parse(text);
    if (!name || FileExists(folder + "/" + text)) continue;
    const DataKind* const kind = DataKinds::Get().Find(name->kind);
    if (kind == nullptr) continue;
    const std::vector<std::string>& endings = kind->endings;
    if (std::find(endings.begin(), endings.end(), name->ending) == endings.end()) continue;
    WriteDataFile(*name, *kind, folder);
  }
}

}  // namespace doppio
