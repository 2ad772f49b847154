// What an LMDB or LevelDB of Datums tells of its images. A Datum of planes does not say which
// colours they are, but the keys show which of Caffe's tools wrote it.
#ifndef DOPPIO_DATA_SOURCE_DATABASE_FACTS_H_
#define DOPPIO_DATA_SOURCE_DATABASE_FACTS_H_

#include <string>

#include "data/source/source.h"

namespace doppio {

// The facts of a database at `path`, whose first key is `first_key`. A labels.txt in its folder, as
// `data convert` writes it, names the classes.
SourceFacts FactsOfDatabase(const Source& source, const std::string& first_key,
                            const std::string& path);

// The order of the channels in a database that cannot be opened: RGB under the names that BVLC's
// create_cifar10.sh gives (cifar10_train_lmdb), else AS_IN_DATA.
Preprocessing::Channels ChannelsOfDatabaseName(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_DATABASE_FACTS_H_
