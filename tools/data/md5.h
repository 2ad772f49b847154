// MD5 (RFC 1321), in which data sets are published: a check against damage, not against forgery.
// None of the libraries that Doppio links has it, and 100 lines are less than one library more.
#ifndef DOPPIO_TOOLS_DATA_MD5_H_
#define DOPPIO_TOOLS_DATA_MD5_H_

#include <string>

namespace doppio {

// 32 hexadecimal digits: "" gives d41d8cd98f00b204e9800998ecf8427e.
std::string Md5(const std::string& bytes);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_MD5_H_
