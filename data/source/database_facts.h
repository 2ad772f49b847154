// Infers facts about the images of an LMDB or LevelDB database of Datums. A Datum of raw planes
// does not record its channel order, but the format of the keys shows which of Caffe's tools wrote
// the database.
#ifndef DOPPIO_DATA_SOURCE_DATABASE_FACTS_H_
#define DOPPIO_DATA_SOURCE_DATABASE_FACTS_H_

#include <string>

#include "data/record/source.h"

namespace doppio {

// Returns the facts of the database `source`, which was opened at `path` and whose first key is
// `first_key`. Class names come from a labels.txt in the database's folder, as `data convert`
// writes it. Throws FileError if the first record or labels.txt cannot be read.
SourceFacts FactsOfDatabase(const Source& source, const std::string& first_key,
                            const std::string& path);

// Guesses the channel order of a database that cannot be opened: RGB if it has one of the names
// that BVLC's create_cifar10.sh uses (such as cifar10_train_lmdb), else AS_IN_DATA.
Preprocessing::Channels ChannelsOfDatabaseName(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_DATABASE_FACTS_H_
