// Words, types and arithmetic functions that CUDA C++ adds. Atomics exist for integers only: a float atomic does
// not compile, as it would make sums depend on the order of threads.
#pragma once

#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "scheduler.h"

using std::isfinite;
using std::isinf;
using std::isnan;

struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
struct alignas(16) ulonglong2 { unsigned long long x, y; };
struct alignas(4) uchar4 { unsigned char x, y, z, w; };

inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) { return b < a ? b : a; }
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) { return a < b ? b : a; }

template <class T>
T __ldg(const T* address) { return *address; }
template <class T>
T __ldcs(const T* address) { return *address; }
template <class T>
void __stcs(T* address, T value) { *address = value; }

template <class To, class From>
To host_cast_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
inline long long __double_as_longlong(double x) { return host_cast_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return host_cast_bits<double>(x); }
inline int __float_as_int(float x) { return host_cast_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return host_cast_bits<unsigned>(x); }
inline float __int_as_float(int x) { return host_cast_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return host_cast_bits<float>(x); }
inline int __double2hiint(double x) { return int(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return int(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)((uint64_t(uint32_t(high)) << 32) | uint32_t(low)));
}

inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((uint64_t(a) * b) >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

// The rounding that the host has anyway; compiled with -ffp-contract=off.
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __fmaf_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
inline float __double2float_rn(double a) { return float(a); }
inline double __int2double_rn(int a) { return a; }
inline double __uint2double_rn(unsigned a) { return a; }
inline double __ll2double_rn(long long a) { return double(a); }
inline double __ull2double_rn(unsigned long long a) { return double(a); }
inline int __double2int_rn(double a) { return int(std::nearbyint(a)); }
inline int __double2int_rz(double a) { return int(a); }
inline int __double2int_rd(double a) { return int(std::floor(a)); }
inline long long __double2ll_rn(double a) { return (long long)std::nearbyint(a); }
inline long long __double2ll_rz(double a) { return (long long)a; }
inline long long __double2ll_rd(double a) { return (long long)std::floor(a); }
// Fast approximations: here accurate, so nothing may depend on their last bits.
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline float rsqrtf(float a) { return 1.0f / std::sqrt(a); }
inline double rsqrt(double a) { return 1.0 / std::sqrt(a); }

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
[[noreturn]] inline void __trap() { host::runner->fail("__trap"); }
inline long long clock64() { return 0; }
inline void __nanosleep(unsigned) {}

#define HOST_ATOMIC_INTEGER(T) static_assert(std::is_integral<T>::value, "atomics are for integers: order would decide a float sum")
template <class T, class V>
T atomicAdd(T* at, V by) { HOST_ATOMIC_INTEGER(T); return __atomic_fetch_add(at, T(by), __ATOMIC_SEQ_CST); }
template <class T, class V>
T atomicSub(T* at, V by) { HOST_ATOMIC_INTEGER(T); return __atomic_fetch_sub(at, T(by), __ATOMIC_SEQ_CST); }
template <class T, class V>
T atomicOr(T* at, V by) { HOST_ATOMIC_INTEGER(T); return __atomic_fetch_or(at, T(by), __ATOMIC_SEQ_CST); }
template <class T, class V>
T atomicAnd(T* at, V by) { HOST_ATOMIC_INTEGER(T); return __atomic_fetch_and(at, T(by), __ATOMIC_SEQ_CST); }
template <class T, class V>
T atomicXor(T* at, V by) { HOST_ATOMIC_INTEGER(T); return __atomic_fetch_xor(at, T(by), __ATOMIC_SEQ_CST); }
template <class T, class V>
T atomicExch(T* at, V by) { HOST_ATOMIC_INTEGER(T); return __atomic_exchange_n(at, T(by), __ATOMIC_SEQ_CST); }
template <class T, class E, class V>
T atomicCAS(T* at, E expected, V by) {
    HOST_ATOMIC_INTEGER(T);
    T seen = T(expected);
    __atomic_compare_exchange_n(at, &seen, T(by), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return seen;
}
template <class T, class V>
T atomicMax(T* at, V by) {
    HOST_ATOMIC_INTEGER(T);
    T seen = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    while (seen < T(by) && !__atomic_compare_exchange_n(at, &seen, T(by), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    return seen;
}
template <class T, class V>
T atomicMin(T* at, V by) {
    HOST_ATOMIC_INTEGER(T);
    T seen = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    while (T(by) < seen && !__atomic_compare_exchange_n(at, &seen, T(by), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    return seen;
}

// Words of the language come last: standard headers use some of them.
#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __shared__ thread_local
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
