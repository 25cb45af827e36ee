// Cooperative groups.
#pragma once
namespace cooperative_groups {
struct thread_group {
  void sync() const; bool is_valid() const;
  unsigned size() const; unsigned num_threads() const; unsigned thread_rank() const;
  unsigned meta_group_size() const; unsigned meta_group_rank() const;
  template <class T> T shfl(T, int) const; template <class T> T shfl_xor(T, unsigned) const;
  template <class T> T shfl_up(T, unsigned) const; template <class T> T shfl_down(T, unsigned) const;
  int any(int) const; int all(int) const; unsigned ballot(int) const;
  template <class T> unsigned match_any(T) const; template <class T> unsigned match_all(T, int&) const;
};
struct thread_block : thread_group {
  static dim3 group_index(); static dim3 thread_index(); static dim3 group_dim(); static dim3 dim_threads();
};
struct grid_group : thread_group {
  unsigned long long size() const; unsigned long long num_threads() const; unsigned long long thread_rank() const;
  dim3 group_dim() const; dim3 dim_blocks() const;
  unsigned long long block_rank() const; unsigned long long num_blocks() const;
};
struct cluster_group : thread_group {
  dim3 block_index() const; dim3 dim_blocks() const; unsigned block_rank() const; unsigned num_blocks() const;
  template <class T> T* map_shared_rank(T*, int) const;
  void barrier_arrive() const; void barrier_wait() const;
};
struct multi_grid_group : thread_group { unsigned grid_rank() const; unsigned num_grids() const; };
struct coalesced_group : thread_group {};
template <unsigned N, class P = void> struct thread_block_tile : thread_group {
  thread_block_tile() = default;
  template <class Q> thread_block_tile(const thread_block_tile<N, Q>&);
};
thread_block this_thread_block();
grid_group this_grid();
cluster_group this_cluster();
multi_grid_group this_multi_grid();
coalesced_group coalesced_threads();
template <unsigned N, class P> thread_block_tile<N, P> tiled_partition(const P&);
thread_group tiled_partition(const thread_group&, unsigned);
coalesced_group binary_partition(const coalesced_group&, bool);
template <class G> coalesced_group binary_partition(const G&, bool);
template <class G> coalesced_group labeled_partition(const G&, int);
template <class G> void sync(const G&);
template <class T> struct plus { T operator()(T, T) const; };
template <class T> struct less { T operator()(T, T) const; };
template <class T> struct greater { T operator()(T, T) const; };
template <class T> struct bit_and { T operator()(T, T) const; };
template <class T> struct bit_or { T operator()(T, T) const; };
template <class T> struct bit_xor { T operator()(T, T) const; };
template <class G, class T, class O> T reduce(const G&, T, O);
template <class G, class T> T inclusive_scan(const G&, T);
template <class G, class T, class O> T inclusive_scan(const G&, T, O);
template <class G, class T> T exclusive_scan(const G&, T);
template <class G, class T, class O> T exclusive_scan(const G&, T, O);
template <class G, class... A> void memcpy_async(const G&, A...);
template <class G> void wait(const G&);
template <int N, class G> void wait_prior(const G&);
template <class G, class F> void invoke_one(const G&, F);
namespace experimental { using cooperative_groups::tiled_partition; }
}
