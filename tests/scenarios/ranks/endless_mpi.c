// Preloaded into the program by ranks_faults_test: MPI_Finalize never returns, as MPICH's over UCX may do.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

static int Finalize(void) {
  for (;;) pause();
  return 0;
}

// The program looks up MPI's functions by dlsym.
void* dlsym(void* library, const char* name) {
  static void* (*next)(void*, const char*) = NULL;
  if (next == NULL) *(void**)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  return strcmp(name, "MPI_Finalize") == 0 ? (void*)Finalize : next(library, name);
}
