// Creates well-formed HDF5 files from a text recipe. libhdf5 itself crashes on damaged files, so
// fuzz targets vary the contents of a file and not its bytes.
#ifndef DOPPIO_TESTS_FUZZ_HDF5_RECIPE_H_
#define DOPPIO_TESTS_FUZZ_HDF5_RECIPE_H_

#include <string>

namespace doppio {

// Writes the file at `path`. Each line of `recipe` adds one object, with its missing parent groups;
// a line that HDF5 refuses adds nothing.
//
//   group /data/conv
//   set /data/conv/0 f4 2x3      a data set of numbers 0, 1, 2, ...: i1 u2 i8 f4 f8 F8 (big endian)
//   packed data f8 4x2           a data set stored in compressed chunks of up to 8 numbers
//   text /learned_net net.h5     a text of fixed length; variable: without a fixed length
//   link /data/a/a /data/a       another name for a group or a data set
//   bytes preprocessing \x0a...  an attribute of the file, of bytes up to the end of the line
//
// A data set of more than 4096 numbers is created, but its numbers are not written.
void WriteHdf5(const std::string& path, const std::string& recipe);

}  // namespace doppio

#endif  // DOPPIO_TESTS_FUZZ_HDF5_RECIPE_H_
