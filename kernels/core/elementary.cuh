// exp, log, log1p and the normal quantile from + - x / sqrt and integers alone: the bits of
// raytpnn/numerics/elementary.py, as long as nothing is contracted (--fmad=false).
#pragma once

#include "core/constants.cuh"

namespace raytpnn {

union DoubleBits {
    double value;
    long long bits;
};

__device__ __forceinline__ double from_bits(long long bits) {
    DoubleBits cast;
    cast.bits = bits;
    return cast.value;
}

__device__ __forceinline__ double minus_infinity() { return from_bits((long long)0xfff0000000000000ull); }

__device__ __forceinline__ long long to_bits(double value) {
    DoubleBits cast;
    cast.value = value;
    return cast.bits;
}

// Shifting a negative number to the left is only defined without its sign.
__device__ __forceinline__ long long as_exponent(long long power) {
    return (long long)((unsigned long long)power << 52);
}

__device__ __forceinline__ double exp_polynomial(double r, double e0, double e1, double e2, double e3, double e4,
                                                 double e5, double e6, double e7) {
    const double r2 = r * r;
    const double low = (e0 + e1 * r) + (e2 + e3 * r) * r2;
    const double high = (e4 + e5 * r) + (e6 + e7 * r) * r2;
    return 1.0 + (r + r2 * (low + high * (r2 * r2)));
}

__device__ inline double exp(double x) {
    x = x > EXP_MIN ? x : EXP_MIN;
    x = x < EXP_MAX ? x : EXP_MAX;
    const double shifted = x * LOG2_E + ROUND_TO_INT;
    const double k = shifted - ROUND_TO_INT;
    const double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    return exp_polynomial(r, EXP_COEFFICIENTS) * from_bits(as_exponent(to_bits(shifted) + 1023));
}

// Polynomial with the highest coefficient first.
__device__ __forceinline__ double horner(double, double value) { return value; }

template <class... Rest>
__device__ __forceinline__ double horner(double x, double value, double next, Rest... rest) {
    return horner(x, value * x + next, rest...);
}

// 2 artanh(s) for |s| < 0.1716.
__device__ __forceinline__ double artanh_series(double s) {
    const double z = s * s;
    return 2.0 * (s + s * (z * horner(z, ARTANH_COEFFICIENTS)));
}

__device__ inline double log(double x) {
    const double infinity = from_bits(0x7ff0000000000000ll);
    if (!(x > 0.0)) return x == 0.0 ? -infinity : from_bits(0x7ff8000000000000ll);
    if (x == infinity) return infinity;
    const long long bits = to_bits(x);
    const long long exponent = (bits - SQRT_HALF_BITS) >> 52;
    const double mantissa = from_bits(bits - as_exponent(exponent));
    const double e = (double)exponent;
    return e * LN2_HIGH + (artanh_series((mantissa - 1.0) / (mantissa + 1.0)) + e * LN2_LOW);
}

// log(1 + z) for z in [0, 1].
__device__ __forceinline__ double log1p_unit(double z) {
    const bool large = z > SQRT_TWO - 1.0;
    const double numerator = large ? z - 1.0 : z;
    const double denominator = large ? z + 3.0 : z + 2.0;
    return (large ? LN2 : 0.0) + artanh_series(numerator / denominator);
}

// Logarithm of the gamma function of a positive number, by Stirling's series at x + 7.
__device__ inline double log_gamma(double x) {
    const double product = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0) * (x + 5.0) * (x + 6.0);
    const double z = x + 7.0;
    const double inverse = 1.0 / z;
    const double series = inverse * horner(inverse * inverse, STIRLING_COEFFICIENTS);
    return (((z - 0.5) * log(z) - z) + HALF_LOG_2_PI + series) - log(product);
}

// Inverse of the standard normal distribution function, 0 < u < 1.
__device__ inline double normal_quantile(double u) {
    const double q = u - 0.5;
    if ((q < 0.0 ? -q : q) <= 0.425) {
        const double r = 0.180625 - q * q;
        return q * horner(r, PPND_CENTRE_NUMERATOR) / horner(r, PPND_CENTRE_DENOMINATOR);
    }
    double r = sqrt(-log(q < 0.0 ? u : 1.0 - u));
    double value;
    if (r <= 5.0) {
        r = r - 1.6;
        value = horner(r, PPND_MIDDLE_NUMERATOR) / horner(r, PPND_MIDDLE_DENOMINATOR);
    } else {
        r = r - 5.0;
        value = horner(r, PPND_TAIL_NUMERATOR) / horner(r, PPND_TAIL_DENOMINATOR);
    }
    return q < 0.0 ? -value : value;
}

}  // namespace raytpnn
