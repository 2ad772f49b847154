// Reads text files that users write, whatever editor and system wrote them: with or without a byte
// order mark, with \n, \r\n or \r at the ends of lines, and with or without one after the last.
#ifndef DOPPIO_CORE_BASE_CONTENT_TEXT_FILE_H_
#define DOPPIO_CORE_BASE_CONTENT_TEXT_FILE_H_

#include <string>
#include <vector>

namespace doppio {

// Returns `text` without the byte order mark of UTF-8 that editors on Windows put in front of it.
std::string WithoutByteOrderMark(std::string text);

// Returns the lines of `text` without byte order marks in front of them (concatenated files have
// them in later lines, too) and without white space at their ends. Line i has the number i + 1.
std::vector<std::string> LinesOf(const std::string& text);

// Returns the content of a text file without a byte order mark. Throws FileError as ReadFile does,
// and unless the content is text; `wanted` is a phrase such as "a list of images".
std::string ReadTextFile(const std::string& path, const std::string& wanted);

// Returns LinesOf the file. Throws as ReadTextFile does.
std::vector<std::string> ReadLines(const std::string& path, const std::string& wanted);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_CONTENT_TEXT_FILE_H_
