// Tells from its content what a file or a folder is.
#ifndef DOPPIO_TOOLS_CLI_FILE_KIND_H_
#define DOPPIO_TOOLS_CLI_FILE_KIND_H_

#include <string>

namespace doppio {

// Whether `text` is a solver's file and not a net's, by the names at its top level: a solver has
// none of a net's and the other way round, but for a few. `file`, its name, decides where they say
// nothing.
bool LooksLikeSolver(const std::string& text, const std::string& file);

// Returns "LMDB", "LEVELDB", "IDX" or "CIFAR", which are backends of data_param, or "list" or
// "folder" (one that has a folder for each class).
std::string DataKindOf(const std::string& path);

// Whether `content` is no text: it holds control characters, as every binary net with a layer does
// (the head of one is 0x12 in old nets and 0xa2 0x06 in current ones).
bool IsBinary(const std::string& content);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_FILE_KIND_H_
