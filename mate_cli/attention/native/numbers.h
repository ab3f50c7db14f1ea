// Numbers as PyTorch stores them, and as the kernels compute with them.
#pragma once

#include <cstdint>
#include <cstring>

namespace {

struct BFloat16 {
  uint16_t bits;
};

template <class T>
inline T widened(T x) {
  return x;
}
inline float widened(BFloat16 x) {
  const uint32_t bits = uint32_t(x.bits) << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof wide);
  return wide;
}

template <class T>
inline void narrow(T x, T& to) {
  to = x;
}
inline void narrow(float x, BFloat16& to) {  // round to nearest, ties to even
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  to.bits = x != x ? 0x7fc0 : uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace
