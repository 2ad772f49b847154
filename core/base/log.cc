#include "core/base/log.h"

#include <glog/logging.h>

namespace doppio {

void InitLog(const char* program) {
  FLAGS_logtostderr = true;
  FLAGS_log_year_in_prefix = false;  // the classic form; old parsers reject the year
  google::InitGoogleLogging(program);
}

}  // namespace doppio
