// Vector types with CUDA's alignments, and dim3.
#pragma once
#define CUTEPORT_VECTORS(T, NAME)                                                        \
  struct NAME##1 { T x; };                                                               \
  struct alignas(2 * sizeof(T)) NAME##2 { T x, y; };                                     \
  struct NAME##3 { T x, y, z; };                                                         \
  struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) NAME##4 { T x, y, z, w; };     \
  NAME##1 make_##NAME##1(T);                                                             \
  NAME##2 make_##NAME##2(T, T);                                                          \
  NAME##3 make_##NAME##3(T, T, T);                                                       \
  NAME##4 make_##NAME##4(T, T, T, T);
CUTEPORT_VECTORS(signed char, char)
CUTEPORT_VECTORS(unsigned char, uchar)
CUTEPORT_VECTORS(short, short)
CUTEPORT_VECTORS(unsigned short, ushort)
CUTEPORT_VECTORS(int, int)
CUTEPORT_VECTORS(unsigned int, uint)
CUTEPORT_VECTORS(long, long)
CUTEPORT_VECTORS(unsigned long, ulong)
CUTEPORT_VECTORS(long long, longlong)
CUTEPORT_VECTORS(unsigned long long, ulonglong)
CUTEPORT_VECTORS(float, float)
CUTEPORT_VECTORS(double, double)

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};
