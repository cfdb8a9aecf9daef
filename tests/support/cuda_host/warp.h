// Warp operations: lanes leave a value, meet, and read each other's.
#pragma once

#include "scheduler.h"

namespace host {

template <class T>
uint64_t bits_of(T value) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <class T>
T value_of(uint64_t bits) {
    T value;
    memcpy(&value, &bits, sizeof(T));
    return value;
}

inline int lane() { return runner->number() % WARP; }

// Value of lane `source`, or one's own where the operation says so. Reading a lane off the mask is a fault here.
template <class T>
T shuffle(const Site& site, unsigned mask, T value, int source, int width) {
    if (width < 1 || width > WARP || (width & (width - 1)))
        runner->fail("%s of %s:%d: width %d is not a power of two up to 32", site.operation, site.file, site.line, width);
    Meeting* meeting = runner->meet(site, mask, bits_of(value));
    if (!(meeting->mask >> source & 1u))
        runner->fail("%s of %s:%d reads lane %d, which mask %08x lacks", site.operation, site.file, site.line, source, mask);
    T result = value_of<T>(meeting->value[source]);
    runner->part(meeting);
    return result;
}

template <class T>
T shuffle_from(const Site& site, unsigned mask, T value, int source, int width = WARP) {
    int me = lane();
    return shuffle(site, mask, value, (me & ~(width - 1)) | (source & (width - 1)), width);
}

template <class T>
T shuffle_up(const Site& site, unsigned mask, T value, unsigned delta, int width = WARP) {
    int me = lane(), source = me - int(delta);
    return shuffle(site, mask, value, source < (me & ~(width - 1)) ? me : source, width);
}

template <class T>
T shuffle_down(const Site& site, unsigned mask, T value, unsigned delta, int width = WARP) {
    int me = lane(), source = me + int(delta);
    return shuffle(site, mask, value, source > (me | (width - 1)) ? me : source, width);
}

template <class T>
T shuffle_xor(const Site& site, unsigned mask, T value, int lanes, int width = WARP) {
    int me = lane(), source = me ^ lanes;
    return shuffle(site, mask, value, source > (me | (width - 1)) ? me : source, width);
}

inline unsigned ballot(const Site& site, unsigned mask, int vote) {
    Meeting* meeting = runner->meet(site, mask, uint64_t(vote != 0));
    unsigned votes = 0;
    for (int i = 0; i < WARP; ++i)
        if (mask >> i & 1u) votes |= unsigned(meeting->value[i]) << i;
    runner->part(meeting);
    return votes;
}

}  // namespace host

#define __shfl_sync(...) host::shuffle_from(HOST_SITE("__shfl_sync"), __VA_ARGS__)
#define __shfl_up_sync(...) host::shuffle_up(HOST_SITE("__shfl_up_sync"), __VA_ARGS__)
#define __shfl_down_sync(...) host::shuffle_down(HOST_SITE("__shfl_down_sync"), __VA_ARGS__)
#define __shfl_xor_sync(...) host::shuffle_xor(HOST_SITE("__shfl_xor_sync"), __VA_ARGS__)
#define __ballot_sync(mask, vote) host::ballot(HOST_SITE("__ballot_sync"), mask, vote)
#define __any_sync(mask, vote) (host::ballot(HOST_SITE("__any_sync"), mask, vote) != 0)
#define __all_sync(mask, vote) (host::ballot(HOST_SITE("__all_sync"), mask, vote) == (mask))
#define HOST_SYNCWARP(site, mask, ...) ((void)host::ballot(site, mask, 0))
#define __syncwarp(...) HOST_SYNCWARP(HOST_SITE("__syncwarp"), __VA_ARGS__ __VA_OPT__(, ) 0xffffffffu)
