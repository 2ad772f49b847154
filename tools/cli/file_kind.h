// Detects the kind of a file or folder from its content.
#ifndef DOPPIO_TOOLS_CLI_FILE_KIND_H_
#define DOPPIO_TOOLS_CLI_FILE_KIND_H_

#include <string>

namespace doppio {

// Returns true if `text` is a solver rather than a net. Compares the number of top-level fields
// that only a solver may have with the number that only a net may have; the two schemas share few
// names. If the counts are equal, the file name `file` decides.
bool LooksLikeSolver(const std::string& text, const std::string& file);

// Returns true if `text` is a label map of SSD: its only top-level field is `item`.
bool LooksLikeLabelMap(const std::string& text, const std::string& file);

// Returns the first word that stands for a number in a template of a net, such as `cls3x` in
// `num_output: cls3x`, which a script replaces; "" if there is none.
std::string PlaceholderIn(const std::string& text, const std::string& file);

// Returns the kind of the data at `path`: "LMDB", "LEVELDB", "IDX" or "CIFAR", which are backends
// of data_param; "list" for a text file; "folder" for a folder with one subfolder per class.
std::string DataKindOf(const std::string& path);

// Returns true if `content` holds control characters other than white space. Every binary net with
// at least one layer does: the tag of a layer is 0x12 in old nets and 0xa2 0x06 in current ones.
bool IsBinary(const std::string& content);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_FILE_KIND_H_
