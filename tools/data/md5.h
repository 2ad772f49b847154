// MD5 (RFC 1321), the checksum that many data sets are published with. It protects against damage,
// not against forgery. No library that Doppio links provides it, and 100 lines cost less than one
// more library.
#ifndef DOPPIO_TOOLS_DATA_MD5_H_
#define DOPPIO_TOOLS_DATA_MD5_H_

#include <string>

namespace doppio {

// Returns the digest as 32 hexadecimal digits: d41d8cd98f00b204e9800998ecf8427e for "".
std::string Md5(const std::string& bytes);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_MD5_H_
