// The parts of the C++ standard library that device code uses, and enough of the rest for host code.
#pragma once
namespace std {
typedef decltype(nullptr) nullptr_t;
using ::size_t; using ::ptrdiff_t; using ::intptr_t; using ::uintptr_t;
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::sqrt; using ::cbrt; using ::hypot; using ::pow; using ::exp; using ::exp2; using ::expm1;
using ::log; using ::log2; using ::log10; using ::log1p; using ::logb;
using ::sin; using ::cos; using ::tan; using ::asin; using ::acos; using ::atan; using ::atan2;
using ::sinh; using ::cosh; using ::tanh; using ::asinh; using ::acosh; using ::atanh;
using ::abs; using ::fabs; using ::fmin; using ::fmax; using ::fmod; using ::fma; using ::fdim;
using ::floor; using ::ceil; using ::round; using ::trunc; using ::rint; using ::nearbyint; using ::lround;
using ::llround; using ::lrint; using ::remainder; using ::copysign; using ::nextafter; using ::ldexp;
using ::frexp; using ::modf; using ::scalbn; using ::ilogb; using ::erf; using ::erfc; using ::lgamma;
using ::tgamma; using ::isnan; using ::isinf; using ::isfinite; using ::signbit; using ::nan;
using ::memcpy; using ::memmove; using ::memset; using ::memcmp; using ::strlen; using ::strcmp;
using ::malloc; using ::free; using ::exit; using ::abort; using ::printf; using ::rand; using ::srand;
using ::atoi; using ::atof;

template <class T, T v> struct integral_constant {
  static constexpr T value = v;
  typedef T value_type;
  typedef integral_constant type;
  constexpr operator T() const { return v; }
  constexpr T operator()() const { return v; }
};
template <bool b> using bool_constant = integral_constant<bool, b>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;
template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <bool, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;
template <bool, class A, class B> struct conditional { typedef A type; };
template <class A, class B> struct conditional<false, A, B> { typedef B type; };
template <bool b, class A, class B> using conditional_t = typename conditional<b, A, B>::type;
template <class...> using void_t = void;
template <class T> struct remove_reference { typedef T type; };
template <class T> struct remove_reference<T&> { typedef T type; };
template <class T> struct remove_reference<T&&> { typedef T type; };
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct remove_const { typedef T type; };
template <class T> struct remove_const<const T> { typedef T type; };
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> struct remove_volatile { typedef T type; };
template <class T> struct remove_volatile<volatile T> { typedef T type; };
template <class T> struct remove_cv { typedef typename remove_volatile<remove_const_t<T>>::type type; };
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> struct remove_pointer { typedef T type; };
template <class T> struct remove_pointer<T*> { typedef T type; };
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> struct decay { typedef remove_cv_t<remove_reference_t<T>> type; };
template <class T> using decay_t = typename decay<T>::type;
#define CUTEPORT_TRAIT(NAME, TEST)                                                       \
  template <class T> struct NAME : bool_constant<TEST> {};                               \
  template <class T> inline constexpr bool NAME##_v = TEST;
CUTEPORT_TRAIT(is_integral, __is_integral(T)) CUTEPORT_TRAIT(is_floating_point, __is_floating_point(T))
CUTEPORT_TRAIT(is_arithmetic, __is_arithmetic(T)) CUTEPORT_TRAIT(is_signed, __is_signed(T))
CUTEPORT_TRAIT(is_unsigned, __is_unsigned(T)) CUTEPORT_TRAIT(is_enum, __is_enum(T))
CUTEPORT_TRAIT(is_pointer, __is_pointer(T)) CUTEPORT_TRAIT(is_void, __is_void(T))
CUTEPORT_TRAIT(is_const, __is_const(T)) CUTEPORT_TRAIT(is_class, __is_class(T))
CUTEPORT_TRAIT(is_trivially_copyable, __is_trivially_copyable(T)) CUTEPORT_TRAIT(is_pod, __is_pod(T))
CUTEPORT_TRAIT(is_reference, __is_reference(T)) CUTEPORT_TRAIT(is_array, __is_array(T))
CUTEPORT_TRAIT(is_trivial, __is_trivial(T)) CUTEPORT_TRAIT(is_standard_layout, __is_standard_layout(T))
CUTEPORT_TRAIT(is_empty, __is_empty(T)) CUTEPORT_TRAIT(is_function, __is_function(T))
CUTEPORT_TRAIT(is_default_constructible, __is_constructible(T))
#define CUTEPORT_TRAIT2(NAME, TEST)                                                      \
  template <class A, class B> struct NAME : bool_constant<TEST> {};                      \
  template <class A, class B> inline constexpr bool NAME##_v = TEST;
CUTEPORT_TRAIT2(is_base_of, __is_base_of(A, B)) CUTEPORT_TRAIT2(is_convertible, __is_convertible_to(A, B))
CUTEPORT_TRAIT2(is_assignable, __is_assignable(A, B))
template <class T> struct make_unsigned { typedef __make_unsigned(T) type; };
template <class T> using make_unsigned_t = __make_unsigned(T);
template <class T> struct make_signed { typedef __make_signed(T) type; };
template <class T> using make_signed_t = __make_signed(T);
template <class T> struct underlying_type { typedef __underlying_type(T) type; };
template <class T> using underlying_type_t = __underlying_type(T);

template <size_t N, size_t A = alignof(double)> struct aligned_storage {
  struct type { alignas(A) unsigned char bytes[N]; };
};
template <class T> T&& declval();
template <class... T> struct common_type {};
template <class T> struct common_type<T> { typedef decay_t<T> type; };
template <class A, class B> struct common_type<A, B> {
  typedef decay_t<decltype(false ? declval<A>() : declval<B>())> type;
};
template <class A, class B, class... R> struct common_type<A, B, R...> {
  typedef typename common_type<typename common_type<A, B>::type, R...>::type type;
};
template <class... T> using common_type_t = typename common_type<T...>::type;
template <class T> struct add_pointer { typedef remove_reference_t<T>* type; };
template <class T> using add_pointer_t = typename add_pointer<T>::type;
template <class T> struct add_const { typedef const T type; };
template <class T> using add_const_t = const T;
template <class F, class... A> struct invoke_result { typedef decltype(declval<F>()(declval<A>()...)) type; };
template <class F, class... A> using invoke_result_t = typename invoke_result<F, A...>::type;
template <class T> constexpr T&& forward(remove_reference_t<T>& t) { return static_cast<T&&>(t); }
template <class T> constexpr remove_reference_t<T>&& move(T&& t) { return static_cast<remove_reference_t<T>&&>(t); }
template <class T> constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> constexpr const T& clamp(const T& v, const T& low, const T& high) {
  return v < low ? low : high < v ? high : v;
}
template <class T> void swap(T& a, T& b) { T t = a; a = b; b = t; }

template <class T> struct numeric_limits {
  static constexpr bool is_specialized = false;
};
#define CUTEPORT_INTEGER_LIMITS(T, SIGNED, MIN, MAX)                                     \
  template <> struct numeric_limits<T> {                                                 \
    static constexpr bool is_specialized = true, is_signed = SIGNED, is_integer = true;  \
    static constexpr bool has_infinity = false;                                          \
    static constexpr int digits = 8 * sizeof(T) - SIGNED;                                \
    static constexpr T min() { return MIN; }                                             \
    static constexpr T max() { return MAX; }                                             \
    static constexpr T lowest() { return MIN; }                                          \
    static constexpr T epsilon() { return 0; }                                           \
    static constexpr T infinity() { return 0; }                                          \
    static constexpr T quiet_NaN() { return 0; }                                         \
  };
CUTEPORT_INTEGER_LIMITS(bool, false, false, true)
CUTEPORT_INTEGER_LIMITS(char, true, CHAR_MIN, CHAR_MAX)
CUTEPORT_INTEGER_LIMITS(signed char, true, SCHAR_MIN, SCHAR_MAX)
CUTEPORT_INTEGER_LIMITS(unsigned char, false, 0, UCHAR_MAX)
CUTEPORT_INTEGER_LIMITS(short, true, SHRT_MIN, SHRT_MAX)
CUTEPORT_INTEGER_LIMITS(unsigned short, false, 0, USHRT_MAX)
CUTEPORT_INTEGER_LIMITS(int, true, INT_MIN, INT_MAX)
CUTEPORT_INTEGER_LIMITS(unsigned int, false, 0, UINT_MAX)
CUTEPORT_INTEGER_LIMITS(long, true, LONG_MIN, LONG_MAX)
CUTEPORT_INTEGER_LIMITS(unsigned long, false, 0, ULONG_MAX)
CUTEPORT_INTEGER_LIMITS(long long, true, LLONG_MIN, LLONG_MAX)
CUTEPORT_INTEGER_LIMITS(unsigned long long, false, 0, ULLONG_MAX)
#define CUTEPORT_FLOAT_LIMITS(T, P, F)                                                   \
  template <> struct numeric_limits<T> {                                                 \
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false;   \
    static constexpr bool has_infinity = true;                                           \
    static constexpr int digits = __##P##_MANT_DIG__, max_exponent = __##P##_MAX_EXP__;  \
    static constexpr T min() { return __##P##_MIN__; }                                   \
    static constexpr T max() { return __##P##_MAX__; }                                   \
    static constexpr T lowest() { return -__##P##_MAX__; }                               \
    static constexpr T epsilon() { return __##P##_EPSILON__; }                           \
    static constexpr T denorm_min() { return __##P##_DENORM_MIN__; }                     \
    static constexpr T infinity() { return __builtin_inf##F(); }                         \
    static constexpr T quiet_NaN() { return __builtin_nan##F(""); }                      \
  };
CUTEPORT_FLOAT_LIMITS(float, FLT, f)
CUTEPORT_FLOAT_LIMITS(double, DBL, )

template <class A, class B> struct pair {
  A first; B second;
  constexpr pair() : first(), second() {}
  constexpr pair(const A& a, const B& b) : first(a), second(b) {}
};
template <class A, class B> constexpr pair<A, B> make_pair(A a, B b) { return pair<A, B>(a, b); }
template <class T, size_t N> struct array {
  T elements[N];
  constexpr T& operator[](size_t i) { return elements[i]; }
  constexpr const T& operator[](size_t i) const { return elements[i]; }
  constexpr T* data() { return elements; }
  constexpr const T* data() const { return elements; }
  constexpr size_t size() const { return N; }
};
template <class T> struct complex {
  T re, im;
  constexpr complex(T re = T(), T im = T()) : re(re), im(im) {}
  constexpr T real() const { return re; }
  constexpr T imag() const { return im; }
};
template <class T = void> struct plus { constexpr T operator()(T a, T b) const { return a + b; } };
template <class T = void> struct minus { constexpr T operator()(T a, T b) const { return a - b; } };
template <class T = void> struct multiplies { constexpr T operator()(T a, T b) const { return a * b; } };
template <class T = void> struct less { constexpr bool operator()(T a, T b) const { return a < b; } };
template <class T = void> struct greater { constexpr bool operator()(T a, T b) const { return a > b; } };
template <size_t...> struct index_sequence {};

// Host side only: enough for launches to be read.
namespace chrono {
template <class R = double, class P = void> struct duration {
  duration(); template <class... A> duration(A...);
  R count() const;
  template <class D> duration operator-(const D&) const; template <class D> duration operator+(const D&) const;
  template <class D> duration& operator+=(const D&);
};
struct time_point {
  duration<long> operator-(const time_point&) const;
  duration<long> time_since_epoch() const;
};
typedef duration<long> nanoseconds, microseconds, milliseconds, seconds, minutes, hours;
struct steady_clock { typedef std::chrono::time_point time_point; static time_point now(); };
typedef steady_clock high_resolution_clock, system_clock;
template <class D, class S> D duration_cast(const S&);
}
template <long N, long D = 1> struct ratio {};
typedef ratio<1, 1000> milli;
typedef ratio<1, 1000000> micro;
typedef ratio<1, 1000000000> nano;
struct ostream {
  template <class... A> ostream& write(A&&...); ostream& flush(); long precision(long); int width(int);
};
extern ostream cout, cerr, clog;
ostream& endl(ostream&);
ostream& operator<<(ostream&, ostream& (*)(ostream&));
template <class T> ostream& operator<<(ostream&, const T&);
template <class T> struct initializer_list { const T* first; size_t count; };
template <class T> class vector {
 public:
  typedef T value_type;
  vector();
  template <class... A> vector(A...);
  T& operator[](size_t); const T& operator[](size_t) const;
  T* data(); const T* data() const;
  typedef T* iterator; typedef const T* const_iterator; typedef size_t size_type;
  T* begin() const; T* end() const; T& back(); T& front(); T& at(size_t); const T& at(size_t) const;
  template <class... A> void assign(A&&...); template <class... A> void insert(A&&...); void pop_back();
  template <class... A> void erase(A&&...); void swap(vector&); void shrink_to_fit();
  size_t size() const; bool empty() const;
  void push_back(const T&); template <class... A> void resize(size_t, A&&...); void reserve(size_t); void clear();
  template <class... A> void emplace_back(A...);
};
class string {
 public:
  string(); string(const char*);
  template <class... A> string(A...);
  const char* c_str() const; const char* data() const; size_t size() const; size_t length() const;
  bool empty() const; char& operator[](size_t); char operator[](size_t) const; char& back();
  template <class A> string& operator+=(const A&); template <class A> string& operator=(const A&);
  template <class... A> size_t find(A&&...) const; template <class... A> size_t rfind(A&&...) const;
  template <class... A> size_t find_first_of(A&&...) const; template <class... A> size_t find_last_of(A&&...) const;
  string substr(size_t = 0, size_t = -1) const; template <class... A> string& erase(A&&...);
  template <class... A> string& append(A&&...); template <class... A> string& replace(A&&...);
  template <class A> int compare(const A&) const; void push_back(char); void clear();
  char* begin(); char* end(); static const size_t npos = -1;
};
}
