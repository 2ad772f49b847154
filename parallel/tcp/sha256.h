// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), with which ranks prove that they know a job's secret.
#ifndef DOPPIO_PARALLEL_TCP_SHA256_H_
#define DOPPIO_PARALLEL_TCP_SHA256_H_

#include <array>
#include <cstdint>
#include <string>

namespace doppio {

using Sha256Digest = std::array<uint8_t, 32>;

// Returns the SHA-256 digest of `bytes`.
Sha256Digest Sha256(const std::string& bytes);

// Returns the HMAC-SHA-256 of `message` under `key`.
Sha256Digest HmacSha256(const std::string& key, const std::string& message);

// Compares in a time that does not depend on the contents.
bool SameDigest(const Sha256Digest& a, const Sha256Digest& b);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_TCP_SHA256_H_
