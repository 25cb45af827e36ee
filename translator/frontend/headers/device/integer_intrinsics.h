// Integer and SIMD-in-a-word intrinsics.
#pragma once
int __popc(unsigned); int __popcll(unsigned long long);
int __clz(int); int __clzll(long long);
int __ffs(int); int __ffsll(long long);
unsigned __brev(unsigned); unsigned long long __brevll(unsigned long long);
unsigned __fns(unsigned, unsigned, int);
int __mul24(int, int); unsigned __umul24(unsigned, unsigned);
int mul24(int, int); unsigned umul24(unsigned, unsigned);
int __mulhi(int, int); unsigned __umulhi(unsigned, unsigned);
int mulhi(int, int); unsigned umulhi(unsigned, unsigned);
long long __mul64hi(long long, long long);
unsigned long long __umul64hi(unsigned long long, unsigned long long);
unsigned __sad(int, int, unsigned); unsigned __usad(unsigned, unsigned, unsigned);
int __hadd(int, int); unsigned __uhadd(unsigned, unsigned);
int __rhadd(int, int); unsigned __urhadd(unsigned, unsigned);
unsigned __byte_perm(unsigned, unsigned, unsigned);
unsigned __funnelshift_l(unsigned, unsigned, unsigned); unsigned __funnelshift_lc(unsigned, unsigned, unsigned);
unsigned __funnelshift_r(unsigned, unsigned, unsigned); unsigned __funnelshift_rc(unsigned, unsigned, unsigned);
int __dp4a(int, int, int); unsigned __dp4a(unsigned, unsigned, unsigned);
int __dp4a(char4, char4, int); unsigned __dp4a(uchar4, uchar4, unsigned);
int __dp2a_lo(int, int, int); unsigned __dp2a_lo(unsigned, unsigned, unsigned);
int __dp2a_hi(int, int, int); unsigned __dp2a_hi(unsigned, unsigned, unsigned);

#define CUTEPORT_SIMD1(NAME) unsigned NAME##2(unsigned); unsigned NAME##4(unsigned);
#define CUTEPORT_SIMD2(NAME) unsigned NAME##2(unsigned, unsigned); unsigned NAME##4(unsigned, unsigned);
CUTEPORT_SIMD1(__vabs) CUTEPORT_SIMD1(__vabsss) CUTEPORT_SIMD1(__vneg) CUTEPORT_SIMD1(__vnegss)
CUTEPORT_SIMD2(__vadd) CUTEPORT_SIMD2(__vaddss) CUTEPORT_SIMD2(__vaddus)
CUTEPORT_SIMD2(__vsub) CUTEPORT_SIMD2(__vsubss) CUTEPORT_SIMD2(__vsubus)
CUTEPORT_SIMD2(__vavgs) CUTEPORT_SIMD2(__vavgu) CUTEPORT_SIMD2(__vhaddu)
CUTEPORT_SIMD2(__vabsdiffs) CUTEPORT_SIMD2(__vabsdiffu) CUTEPORT_SIMD2(__vsads) CUTEPORT_SIMD2(__vsadu)
CUTEPORT_SIMD2(__vmaxs) CUTEPORT_SIMD2(__vmaxu) CUTEPORT_SIMD2(__vmins) CUTEPORT_SIMD2(__vminu)
CUTEPORT_SIMD2(__vcmpeq) CUTEPORT_SIMD2(__vcmpne)
CUTEPORT_SIMD2(__vcmpges) CUTEPORT_SIMD2(__vcmpgeu) CUTEPORT_SIMD2(__vcmpgts) CUTEPORT_SIMD2(__vcmpgtu)
CUTEPORT_SIMD2(__vcmples) CUTEPORT_SIMD2(__vcmpleu) CUTEPORT_SIMD2(__vcmplts) CUTEPORT_SIMD2(__vcmpltu)
CUTEPORT_SIMD2(__vseteq) CUTEPORT_SIMD2(__vsetne)
CUTEPORT_SIMD2(__vsetges) CUTEPORT_SIMD2(__vsetgeu) CUTEPORT_SIMD2(__vsetgts) CUTEPORT_SIMD2(__vsetgtu)
CUTEPORT_SIMD2(__vsetles) CUTEPORT_SIMD2(__vsetleu) CUTEPORT_SIMD2(__vsetlts) CUTEPORT_SIMD2(__vsetltu)
