// The parts of the C library that sources mention.
#pragma once
extern "C" int printf(const char*, ...);
void __cuteport_assert(bool, const char*);
#define assert(condition) __cuteport_assert(static_cast<bool>(condition), #condition)
void __assert_fail(...);
void __trap();
void abort();
void exit(int);

void* malloc(size_t);
void* calloc(size_t, size_t);
void* realloc(void*, size_t);
void free(void*);
void* memcpy(void*, const void*, size_t);
void* memmove(void*, const void*, size_t);
void* memset(void*, int, size_t);
int memcmp(const void*, const void*, size_t);
size_t strlen(const char*);
int strcmp(const char*, const char*);
int strncmp(const char*, const char*, size_t);
char* strcpy(char*, const char*);
int atoi(const char*);
long atol(const char*);
double atof(const char*);
int rand();
void srand(unsigned);
int rand_r(unsigned*);
