// nvcuda::wmma; parsed, so that the kernel can be refused by name.
#pragma once
namespace nvcuda { namespace wmma {
struct matrix_a; struct matrix_b; struct accumulator;
struct row_major; struct col_major;
namespace precision { struct tf32; struct u4; struct s4; struct b1; }
enum layout_t { mem_row_major, mem_col_major };
template <class U, int M, int N, int K, class T, class L = void> struct fragment {
  static constexpr int num_elements = 8, num_storage_elements = 8;
  typedef T element_type;
  T x[8];
};
template <class F, class V> void fill_fragment(F&, V);
template <class F, class T> void load_matrix_sync(F&, const T*, unsigned);
template <class F, class T> void load_matrix_sync(F&, const T*, unsigned, layout_t);
template <class F, class T> void store_matrix_sync(T*, const F&, unsigned, layout_t);
template <class D, class A, class B, class C> void mma_sync(D&, const A&, const B&, const C&, bool = false);
float __float_to_tf32(float);
} }
