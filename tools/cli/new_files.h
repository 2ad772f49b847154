// The files that one command writes into a folder: all of them, or none if the command fails.
#ifndef DOPPIO_TOOLS_CLI_NEW_FILES_H_
#define DOPPIO_TOOLS_CLI_NEW_FILES_H_

#include <string>
#include <vector>

namespace doppio {

class NewFiles {
 public:
  // Creates nothing yet. `folder` need not exist; "" is the working folder.
  explicit NewFiles(const std::string& folder);
  // Unless Keep was called, removes the files, and the folders that are then empty and did not
  // exist before, so that the command can be repeated.
  ~NewFiles();
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  // Writes a file into the folder. Throws FileError. Only the last file may replace one, because a
  // failure does not bring that one back.
  void Write(const std::string& name, const std::string& content);
  void Keep() { made_.clear(); }

 private:
  const std::string folder_;       // with its slash, unless it is ""
  std::vector<std::string> made_;  // a folder before its content
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_NEW_FILES_H_
