// LevelDB's access to files.
#ifndef DOPPIO_DATA_SOURCE_LEVELDB_ENV_H_
#define DOPPIO_DATA_SOURCE_LEVELDB_ENV_H_

#include <leveldb/env.h>

namespace doppio {

// Returns LevelDB's own Env, except that it does not map tables into memory, because a mapped file
// that is cut off, or whose disk fails, ends the program with SIGBUS. Never destroyed.
leveldb::Env* UnmappedEnv();

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_LEVELDB_ENV_H_
