// A stand-in for an MPI library with one process, with the binary interface of Open MPI
// (FAKE_OPEN_MPI), of MPI 5 (FAKE_MPI_5) or of MPICH. FAKE_NAME is the name that it reports. Calls
// with handles of another interface fail with code 17.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(FAKE_OPEN_MPI)
extern "C" {
char ompi_mpi_comm_world, ompi_mpi_info_null, ompi_mpi_errors_return, ompi_mpi_op_sum;
char ompi_mpi_byte, ompi_mpi_unsigned_short, ompi_mpi_float, ompi_mpi_double;
}
#endif

namespace {

#if defined(FAKE_OPEN_MPI)
using Handle = void*;
char g_objects[2], g_ops[8];
const Handle kWorld = &ompi_mpi_comm_world, kNoInfo = &ompi_mpi_info_null;
const Handle kErrorsReturn = &ompi_mpi_errors_return;
// Without MPI_Iallreduce, some of these have no use.
[[maybe_unused]] const Handle kSum = &ompi_mpi_op_sum, kUInt16 = &ompi_mpi_unsigned_short;
const Handle kByte = &ompi_mpi_byte, kFloat = &ompi_mpi_float;
[[maybe_unused]] const Handle kDouble = &ompi_mpi_double;
const Handle kCopy = &g_objects[0], kRequest = &g_objects[1], kNoRequest = nullptr;
Handle Op(int number) { return &g_ops[number]; }
constexpr intptr_t kInPlace = 1, kNoStatus = 0;
constexpr int kShared = 0, kMultiple = 3;
#elif defined(FAKE_MPI_5)
using Handle = void*;
Handle Number(intptr_t value) { return reinterpret_cast<Handle>(value); }
const Handle kWorld = Number(0x101), kNoInfo = Number(0x130), kErrorsReturn = Number(0x143);
const Handle kSum = Number(0x21), kByte = Number(0x247), kUInt16 = Number(0x20c);
const Handle kFloat = Number(0x210), kDouble = Number(0x214);
const Handle kCopy = Number(0x7fff80001000), kRequest = Number(0x7fff80003000);
const Handle kNoRequest = Number(0x180);
Handle Op(int number) { return Number(0x7fff80002000 + number); }
constexpr intptr_t kInPlace = 1, kNoStatus = 0;
constexpr int kShared = 221, kMultiple = 4096;
#else
using Handle = int;
constexpr Handle kWorld = 0x44000000, kNoInfo = 0x1c000000, kErrorsReturn = 0x54000001;
constexpr Handle kSum = 0x58000003, kByte = 0x4c00010d, kUInt16 = 0x4c000204;
constexpr Handle kFloat = 0x4c00040a, kDouble = 0x4c00080b;
// Handles created at run time are negative, as in MPICH.
constexpr Handle kCopy = -0x7bfffffe, kRequest = -0x53ffffff, kNoRequest = 0x2c000000;
Handle Op(int number) { return -0x68000000 + number; }
constexpr intptr_t kInPlace = -1, kNoStatus = 1;
constexpr int kShared = 1, kMultiple = 3;
#endif

constexpr int kSuccess = 0, kWrong = 17, kUndefined = -32766;

using Add = void(void* in, void* in_out, int* count, Handle* type);
Add* g_adds[8] = {};
int g_made = 0;  // number of calls of MPI_Op_create, modulo 8

int Is(bool right) { return right ? kSuccess : kWrong; }
bool IsComm(Handle comm) { return comm == kWorld || comm == kCopy; }
bool IsPlace(const void* place, intptr_t value) {
  return reinterpret_cast<intptr_t>(place) == value;
}

}  // namespace

extern "C" {

int g_fake_mpi_finalized = 0;
volatile int g_fake_mpi_released = 0;  // ends MPI_Finalize, with FAKE_MPI_HANGS in the environment

int MPI_Get_library_version(char* text, int* length) {
  std::strcpy(text, FAKE_NAME);
  *length = static_cast<int>(std::strlen(text));
  return kSuccess;
}

#if !defined(FAKE_OPEN_MPI)
int MPI_Abi_get_version(int* major, int* minor) {
#if defined(FAKE_MPI_5)
  *major = 1;
  *minor = 0;
#else
  *major = *minor = -1;
#endif
  return kSuccess;
}
#endif

int MPI_Init_thread(int*, char***, int wanted, int* provided) {
  *provided = std::getenv("FAKE_MPI_WITHOUT_THREADS") == nullptr ? kMultiple : kMultiple - 1;
  return Is(wanted == kMultiple);
}
int MPI_Finalize() {
  ++g_fake_mpi_finalized;
  while (std::getenv("FAKE_MPI_HANGS") != nullptr && g_fake_mpi_released == 0) usleep(1000);
  return kSuccess;
}
int MPI_Error_string(int code, char* text, int* length) {
  *length = std::sprintf(text, "fake error %d", code);
  return kSuccess;
}
int MPI_Comm_dup(Handle comm, Handle* copy) {
  *copy = kCopy;
  return Is(comm == kWorld && std::getenv("FAKE_MPI_WITHOUT_DUP") == nullptr);
}
int MPI_Comm_split(Handle comm, int color, int key, Handle* part) {
  *part = kCopy;
  return Is(IsComm(comm) && (color >= 0 || color == kUndefined) && key == 0);
}
int MPI_Comm_split_type(Handle comm, int type, int key, Handle info, Handle* part) {
  *part = kCopy;
  return Is(IsComm(comm) && type == kShared && key == 0 && info == kNoInfo);
}
int MPI_Comm_set_errhandler(Handle comm, Handle handler) {
  return Is(IsComm(comm) && handler == kErrorsReturn);
}
int MPI_Comm_free(Handle* comm) { return Is(*comm == kCopy); }
int MPI_Comm_rank(Handle comm, int* rank) {
  *rank = 0;
  return Is(IsComm(comm));
}
int MPI_Comm_size(Handle comm, int* size) {
  *size = 1;
  return Is(IsComm(comm));
}
int MPI_Op_create(Add* add, int commutes, Handle* op) {
  *op = Op(g_made);
  g_adds[g_made] = add;
  g_made = (g_made + 1) % 8;
  return Is(commutes == 1);
}
int MPI_Allgather(const void* from, int count, Handle type, void* to, int, Handle, Handle comm) {
  std::memcpy(to, from, static_cast<size_t>(count));
  return Is(type == kByte && IsComm(comm));
}
// Adds the data to itself, so that tests see which elements were added and how.
#if !defined(FAKE_WITHOUT_IALLREDUCE)
int MPI_Iallreduce(const void* from, void* to, int count, Handle type, Handle op, Handle comm,
                   Handle* request) {
  *request = kRequest;
  if (!IsPlace(from, kInPlace) || !IsComm(comm)) return kWrong;
  for (int i = 0; i < 8; ++i) {
    if (op != Op(i) || g_adds[i] == nullptr || type != kUInt16) continue;
    g_adds[i](to, to, &count, &type);
    return kSuccess;
  }
  for (int i = 0; i < count; ++i) {
    if (type == kFloat) static_cast<float*>(to)[i] *= 2;
    if (type == kDouble) static_cast<double*>(to)[i] *= 2;
  }
  return Is(op == kSum && (type == kFloat || type == kDouble));
}
#endif
// With one process nothing moves. Tests see that the counts and places have arrived.
int MPI_Ialltoallv(const void* from, const int* counts, const int* places, Handle type, void* to,
                   const int* to_counts, const int* to_places, Handle to_type, Handle comm,
                   Handle* request) {
  *request = kRequest;
  if (type != kFloat || to_type != kFloat || counts[0] != to_counts[0]) return kWrong;
  std::memcpy(static_cast<float*>(to) + to_places[0], static_cast<const float*>(from) + places[0],
              static_cast<size_t>(counts[0]) * sizeof(float));
  return Is(IsComm(comm));
}
int MPI_Iallgatherv(const void* from, int count, Handle type, void* to, const int* counts,
                    const int* places, Handle to_type, Handle comm, Handle* request) {
  *request = kRequest;
  if (!IsPlace(from, kInPlace) || count != 0 || type != kFloat || to_type != kFloat) return kWrong;
  static_cast<float*>(to)[places[0]] += static_cast<float>(counts[0]);
  return Is(IsComm(comm));
}
int MPI_Ibcast(void*, int, Handle type, int root, Handle comm, Handle* request) {
  *request = kRequest;
  return Is(type == kByte && root == 0 && IsComm(comm));
}
int MPI_Ibarrier(Handle comm, Handle* request) {
  *request = kRequest;
  return Is(IsComm(comm));
}
int MPI_Test(Handle* request, int* done, void* status) {
  if (*request != kRequest || !IsPlace(status, kNoStatus)) return kWrong;
  *done = 1;
  *request = kNoRequest;
  return kSuccess;
}

}  // extern "C"
