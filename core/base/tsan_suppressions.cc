// Suppressions for ThreadSanitizer: libraries that are not compiled with it. It does not see how
// these libraries synchronise their threads and would report false data races.
// NOLINTBEGIN(bugprone-reserved-identifier): ThreadSanitizer calls the function by this name.
extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  // In Open MPI, a thread also receives messages on behalf of other threads.
  return "race:libopen-pal.so\n"
         "race:libmpi.so\n"
         "race:openmpi3/\n"
         // Open MPI's TCP transport acquires its locks in other orders at start than at shutdown.
         "deadlock:mca_btl_tcp\n"
         // Default values of string fields, created on first use.
         "race:libprotobuf.so\n"
         // The cache of compiled primitives in oneDNN.
         "race:libdnnl.so\n"
         // OpenCV's own threads.
         "race:libopencv_\n";
}
// NOLINTEND(bugprone-reserved-identifier)
