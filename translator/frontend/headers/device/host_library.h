// What host code takes from the C and C++ libraries and from Thrust, loosely: it is read for its launches.
#pragma once
struct FILE;
extern FILE *stdin, *stdout, *stderr;
#define EOF (-1)
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define BUFSIZ 8192
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
#define CLOCKS_PER_SEC 1000000L
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
struct timeval { time_t tv_sec; long tv_usec; };
struct timezone { int tz_minuteswest, tz_dsttime; };
struct timespec { time_t tv_sec; long tv_nsec; };
struct tm { int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst; };
struct option { const char* name; int has_arg; int* flag; int val; };
enum { no_argument, required_argument, optional_argument };
typedef __builtin_va_list va_list;
#define va_start(list, last) __builtin_va_start(list, last)
#define va_end(list) __builtin_va_end(list)
#define va_arg(list, type) __builtin_va_arg(list, type)
extern "C" {
extern char* optarg; extern int optind, opterr, optopt, errno;
FILE* fopen(const char*, const char*); int fclose(FILE*); int fflush(FILE*); int feof(FILE*); int ferror(FILE*);
size_t fread(void*, size_t, size_t, FILE*); size_t fwrite(const void*, size_t, size_t, FILE*);
int fseek(FILE*, long, int); long ftell(FILE*); void rewind(FILE*); char* fgets(char*, int, FILE*);
int fgetc(FILE*); int getc(FILE*); int getchar(); int fputs(const char*, FILE*); int puts(const char*);
int putchar(int); int fputc(int, FILE*); void perror(const char*);
int fprintf(FILE*, const char*, ...); int sprintf(char*, const char*, ...); int vprintf(const char*, va_list);
int snprintf(char*, size_t, const char*, ...); int vfprintf(FILE*, const char*, va_list);
int vsnprintf(char*, size_t, const char*, va_list);
int sscanf(const char*, const char*, ...); int fscanf(FILE*, const char*, ...); int scanf(const char*, ...);
char* strdup(const char*); char* strcat(char*, const char*); char* strncpy(char*, const char*, size_t);
char* strtok(char*, const char*); char* strerror(int); int strcasecmp(const char*, const char*);
long strtol(const char*, char**, int); unsigned long strtoul(const char*, char**, int);
long long strtoll(const char*, char**, int); unsigned long long strtoull(const char*, char**, int);
double strtod(const char*, char**); float strtof(const char*, char**); long long atoll(const char*);
long random(); void srandom(unsigned); double drand48(); void srand48(long); long lrand48();
void bzero(void*, size_t); char* getenv(const char*); int system(const char*); void* aligned_alloc(size_t, size_t);
int posix_memalign(void**, size_t, size_t);
void qsort(void*, size_t, size_t, int (*)(const void*, const void*));
int gettimeofday(timeval*, void*); int clock_gettime(int, timespec*); time_t time(time_t*);
double difftime(time_t, time_t); tm* localtime(const time_t*); int usleep(unsigned); unsigned sleep(unsigned);
int getopt(int, char* const*, const char*);
int getopt_long(int, char* const*, const char*, const option*, int*);
int isdigit(int); int isspace(int); int isalpha(int); int isalnum(int); int isupper(int); int islower(int);
int toupper(int); int tolower(int);
int omp_get_max_threads(); int omp_get_num_threads(); int omp_get_thread_num(); double omp_get_wtime();
}
char* strchr(const char*, int); char* strrchr(const char*, int); char* strstr(const char*, const char*);

#define CUTEPORT_ANY(NAME) template <class... A> void NAME(A&&...);
#define CUTEPORT_FIRST(NAME) template <class I, class... A> I NAME(I, A&&...);
#define CUTEPORT_ANY_AS(T, NAME) template <class... A> T NAME(A&&...);
#define CUTEPORT_ALGORITHMS                                                              \
  CUTEPORT_ANY(sort) CUTEPORT_ANY(stable_sort) CUTEPORT_ANY(partial_sort) CUTEPORT_ANY(nth_element) \
  CUTEPORT_ANY(fill) CUTEPORT_ANY(iota) CUTEPORT_ANY(generate) CUTEPORT_ANY(reverse) CUTEPORT_ANY(sequence) \
  CUTEPORT_ANY(sort_by_key) CUTEPORT_ANY(stable_sort_by_key) CUTEPORT_ANY(for_each) CUTEPORT_ANY(for_each_n) \
  CUTEPORT_ANY(gather) CUTEPORT_ANY(scatter) CUTEPORT_ANY(tabulate) CUTEPORT_ANY(replace) CUTEPORT_ANY(reduce_by_key) \
  CUTEPORT_ANY_AS(bool, equal) CUTEPORT_ANY_AS(bool, is_sorted) CUTEPORT_ANY_AS(bool, binary_search) \
  CUTEPORT_ANY_AS(bool, all_of) CUTEPORT_ANY_AS(bool, any_of) CUTEPORT_ANY_AS(bool, none_of) \
  CUTEPORT_ANY_AS(long, count) CUTEPORT_ANY_AS(long, count_if) CUTEPORT_ANY_AS(long, distance) \
  CUTEPORT_FIRST(fill_n) CUTEPORT_FIRST(generate_n) CUTEPORT_FIRST(copy) CUTEPORT_FIRST(copy_n) CUTEPORT_FIRST(copy_if) \
  CUTEPORT_FIRST(transform) CUTEPORT_FIRST(unique) CUTEPORT_FIRST(remove) CUTEPORT_FIRST(remove_if) \
  CUTEPORT_FIRST(partition) CUTEPORT_FIRST(merge) CUTEPORT_FIRST(find) CUTEPORT_FIRST(find_if) \
  CUTEPORT_FIRST(lower_bound) CUTEPORT_FIRST(upper_bound) CUTEPORT_FIRST(max_element) CUTEPORT_FIRST(min_element) \
  CUTEPORT_FIRST(inclusive_scan) CUTEPORT_FIRST(exclusive_scan) CUTEPORT_FIRST(partial_sum)  \
  CUTEPORT_FIRST(adjacent_difference)

namespace std {
using ::FILE; using ::fopen; using ::fclose; using ::fprintf; using ::sprintf; using ::snprintf; using ::fread;
using ::fwrite; using ::fflush; using ::puts; using ::strtol; using ::strtoul; using ::strtod; using ::strtof;
using ::strcpy; using ::strncmp; using ::strcat; using ::strncpy; using ::strstr; using ::strchr; using ::getenv;
using ::system; using ::qsort; using ::calloc; using ::realloc; using ::time; using ::time_t; using ::isdigit;
using ::isspace; using ::toupper; using ::tolower; using ::aligned_alloc; using ::atol; using ::tm;
CUTEPORT_ALGORITHMS
CUTEPORT_ANY(shuffle) CUTEPORT_ANY(random_shuffle) CUTEPORT_ANY(advance)
template <class I, class T, class... A> T accumulate(I, I, T, A&&...);
template <class I, class J, class T, class... A> T inner_product(I, I, J, T, A&&...);
template <class T, size_t N> constexpr T* begin(T (&a)[N]) { return a; }
template <class T, size_t N> constexpr T* end(T (&a)[N]) { return a + N; }
template <class C> auto begin(C& c) -> decltype(c.begin()) { return c.begin(); }
template <class C> auto end(C& c) -> decltype(c.end()) { return c.end(); }
template <class C> auto size(const C& c) { return c.size(); }

class random_device { public: unsigned operator()(); };
class mt19937 {
 public:
  typedef unsigned result_type;
  mt19937(); template <class... A> mt19937(A&&...);
  unsigned operator()(); void seed(unsigned); static constexpr unsigned min() { return 0; }
  static constexpr unsigned max() { return 0xffffffffu; }
};
typedef mt19937 mt19937_64, default_random_engine, minstd_rand, minstd_rand0;
#define CUTEPORT_DISTRIBUTION(NAME, T)                                                   \
  template <class R = T> class NAME {                                                    \
   public:                                                                               \
    NAME(); template <class... A> NAME(A...);                                            \
    template <class G> R operator()(G&);                                                 \
  };
CUTEPORT_DISTRIBUTION(uniform_int_distribution, int) CUTEPORT_DISTRIBUTION(uniform_real_distribution, double)
CUTEPORT_DISTRIBUTION(normal_distribution, double) CUTEPORT_DISTRIBUTION(discrete_distribution, int)
CUTEPORT_DISTRIBUTION(exponential_distribution, double) CUTEPORT_DISTRIBUTION(poisson_distribution, int)
CUTEPORT_DISTRIBUTION(bernoulli_distribution, bool) CUTEPORT_DISTRIBUTION(lognormal_distribution, double)

typedef long streamsize, streamoff;
class ios { public: typedef int openmode, fmtflags; static openmode in, out, binary, app, ate, trunc, beg, cur, end; };
typedef ios ios_base;
struct istream {
  template <class... A> istream& read(A&&...); template <class... A> istream& getline(A&&...);
  template <class T> istream& operator>>(T&&);
  istream& seekg(long, int = 0); long tellg(); bool good() const; bool fail() const; bool eof() const;
  istream& ignore(long = 1, int = 0); int get(); operator bool() const; bool operator!() const;
};
extern istream cin;
#define CUTEPORT_FILE_STREAM(NAME, BASE)                                                 \
  struct NAME : BASE {                                                                   \
    NAME(); template <class... A> NAME(A&&...);                                          \
    template <class... A> void open(A&&...); bool is_open() const; void close(); string str() const; \
  };
CUTEPORT_FILE_STREAM(ifstream, istream) CUTEPORT_FILE_STREAM(istringstream, istream)
CUTEPORT_FILE_STREAM(ofstream, ostream) CUTEPORT_FILE_STREAM(ostringstream, ostream)
struct iostream : istream, ostream { operator bool() const; bool good() const; bool fail() const; };
CUTEPORT_FILE_STREAM(fstream, iostream) CUTEPORT_FILE_STREAM(stringstream, iostream)
template <class S> S& getline(S&, string&, char = '\n');
struct cuteport_manipulator {};
extern cuteport_manipulator fixed, scientific, left, right, hex, dec, boolalpha, flush;
cuteport_manipulator setprecision(int); cuteport_manipulator setw(int); cuteport_manipulator setfill(char);

template <class T> string to_string(T);
template <class A> string operator+(const string&, const A&);
string operator+(const char*, const string&);
template <class A> bool operator==(const string&, const A&); template <class A> bool operator!=(const string&, const A&);
bool operator<(const string&, const string&);
int stoi(const string&); long stol(const string&); unsigned long stoul(const string&); double stod(const string&);
float stof(const string&);
class exception { public: virtual const char* what() const; };
#define CUTEPORT_EXCEPTION(NAME) class NAME : public exception { public: template <class... A> NAME(A&&...); };
CUTEPORT_EXCEPTION(runtime_error) CUTEPORT_EXCEPTION(logic_error) CUTEPORT_EXCEPTION(invalid_argument)
CUTEPORT_EXCEPTION(out_of_range) CUTEPORT_EXCEPTION(bad_alloc)

#define CUTEPORT_CONTAINER(NAME)                                                         \
  class NAME {                                                                           \
   public:                                                                               \
    NAME(); template <class... A> NAME(A&&...);                                          \
    size_t size() const; bool empty() const; void clear(); template <class... A> void insert(A&&...); \
    template <class... A> void erase(A&&...); template <class... A> void emplace(A&&...); \
    template <class X> size_t count(const X&) const; template <class X> void push(X&&); void pop();
template <class K, class V, class... R> CUTEPORT_CONTAINER(map)
  typedef pair<const K, V> value_type; typedef value_type* iterator; typedef const value_type* const_iterator;
  V& operator[](const K&); V& at(const K&); value_type* find(const K&) const;
  value_type* begin() const; value_type* end() const;
};
template <class K, class V, class... R> using unordered_map = map<K, V, R...>;
template <class K, class V, class... R> using multimap = map<K, V, R...>;
template <class T, class... R> CUTEPORT_CONTAINER(set)
  typedef T value_type; typedef const T* iterator; typedef const T* const_iterator;
  const T* find(const T&) const; const T* begin() const; const T* end() const;
};
template <class T, class... R> using unordered_set = set<T, R...>;
template <class T, class... R> CUTEPORT_CONTAINER(deque)
  typedef T value_type; typedef T* iterator; typedef const T* const_iterator;
  T& operator[](size_t) const; T& front() const; T& back() const; T& top() const;
  T* begin() const; T* end() const; void push_back(const T&); void push_front(const T&); void pop_front();
  void pop_back();
};
template <class T, class... R> using list = deque<T, R...>;
template <class T, class... R> using queue = deque<T, R...>;
template <class T, class... R> using stack = deque<T, R...>;
template <class T, class... R> using priority_queue = deque<T, R...>;

template <class T, class D = void> class unique_ptr {
 public:
  unique_ptr(); template <class... A> unique_ptr(A&&...);
  T& operator*() const; remove_pointer_t<decay_t<T>>* operator->() const; T* get() const; T* release();
  template <class... A> void reset(A&&...); operator bool() const;
};
template <class T, class D> class unique_ptr<T[], D> {
 public:
  unique_ptr(); template <class... A> unique_ptr(A&&...);
  T& operator[](size_t) const; T* get() const; T* release(); template <class... A> void reset(A&&...);
};
template <class T> using shared_ptr = unique_ptr<T>;
template <class T, class... A> unique_ptr<T> make_unique(A&&...);
template <class T, class... A> unique_ptr<T> make_shared(A&&...);
template <class T> class function;
template <class R, class... P> class function<R(P...)> {
 public:
  function(); template <class F> function(F); R operator()(P...) const; operator bool() const;
};
template <class... T> struct tuple { tuple(); template <class... A> tuple(A&&...); };
template <class... T> tuple<decay_t<T>...> make_tuple(T&&...);
template <class... T> tuple<T&...> tie(T&...);
class thread { public: thread(); template <class... A> thread(A&&...); void join(); void detach(); bool joinable(); };
class mutex { public: void lock(); void unlock(); };
template <class M> class lock_guard { public: lock_guard(M&); };
template <class M> class unique_lock { public: unique_lock(M&); };
}

namespace thrust {
CUTEPORT_ALGORITHMS
template <class I> auto reduce(I first, I) { return *first; }
template <class I, class T, class... A> T reduce(I, I, T, A&&...);
template <class P, class I, class J, class T, class... A> T reduce(const P&, I, J, T, A&&...);
template <class I, class F, class T, class... A> T transform_reduce(I, I, F, T, A&&...);
template <class T> class device_ptr {
 public:
  device_ptr(); device_ptr(T*);
  T* get() const; T& operator*() const; T& operator[](long) const; device_ptr operator+(long) const;
};
template <class T> device_ptr<T> device_pointer_cast(T*);
template <class T> T* raw_pointer_cast(T*); template <class T> T* raw_pointer_cast(const device_ptr<T>&);
template <class T> class device_vector {
 public:
  typedef T value_type; typedef device_ptr<T> iterator;
  device_vector(); template <class... A> device_vector(A&&...); template <class V> device_vector& operator=(const V&);
  device_ptr<T> begin() const; device_ptr<T> end() const; device_ptr<T> data() const; T& operator[](size_t) const;
  size_t size() const; void resize(size_t); template <class... A> void resize(size_t, A&&...); void clear();
  void push_back(const T&); T& back() const; T& front() const; bool empty() const; void reserve(size_t);
};
template <class T> class host_vector : public std::vector<T> {
 public:
  host_vector(); template <class... A> host_vector(A&&...); template <class V> host_vector& operator=(const V&);
};
struct cuteport_policy { template <class... A> cuteport_policy on(A&&...) const; };
extern const cuteport_policy device, host, seq;
namespace cuda { extern const cuteport_policy par, par_nosync; }
template <class T = void> struct plus : std::plus<T> {};
template <class T = void> struct minus : std::minus<T> {};
template <class T = void> struct multiplies : std::multiplies<T> {};
template <class T = void> struct less : std::less<T> {};
template <class T = void> struct greater : std::greater<T> {};
template <class T = void> struct maximum { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T = void> struct minimum { T operator()(T a, T b) const { return a < b ? a : b; } };
}
