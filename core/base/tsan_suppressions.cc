// What ThreadSanitizer must not report: libraries that it does not see into, which tell their
// threads by instructions of their own when memory may be used.
extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  // Any thread that calls Open MPI receives for the others as well.
  return "race:libopen-pal.so\n"
         "race:libmpi.so\n"
         "race:openmpi3/\n"
         // The TCP transport of Open MPI takes its locks in different orders at start and at shutdown.
         "deadlock:mca_btl_tcp\n"
         // Strings that fields have by default, made when they are first asked for.
         "race:libprotobuf.so\n"
         // The cache of compiled primitives.
         "race:libdnnl.so\n"
         // Threads of its own.
         "race:libopencv_\n";
}
