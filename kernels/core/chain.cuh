// What the threads of one chain share, and how they work together.
//
// One block of threads runs one chain. Rows belong to threads (row i of a stripe to thread i mod 256 mod threads), so
// that passes over rows need no barrier among themselves: no thread ever reads what another wrote to a row. What is
// no row (proposals, ratios, decisions) is the leader's work: it writes the state and leaves in `Chain` what
// the others need to know, then all meet. A leader's section ends with a barrier, and what it writes was last
// read before some barrier that lies in between.
#pragma once

#include "core/constants.cuh"
#include "core/layout.cuh"

// Codes of bins are uint16 (1) or uint8 (0).
#ifndef WIDE_CODES
#define WIDE_CODES 0
#endif
// Tables over bins stand in dynamic shared memory (1) or, too wide for it, in global memory (0).
#ifndef TABLES_IN_SHARED
#define TABLES_IN_SHARED 1
#endif
// The most threads a block may have; up to 128 registers a thread are then granted on every architecture.
#ifndef MOST_THREADS
#define MOST_THREADS 512
#endif
// Chains may screen proposals on subsets of the rows (1), or never do (0): then nothing of it is compiled.
#ifndef SCREENED
#define SCREENED 0
#endif

#if TABLES_IN_SHARED
extern __shared__ __align__(16) float shared_tables[];
#endif

// Functions compiled apart and called, like the units of raytpnn/engine/jit/function_table.py: registers are counted apart.
#define UNIT __device__ __noinline__
#define INTERNAL __device__ __forceinline__

namespace raytpnn {

#if WIDE_CODES
typedef unsigned short Code;
#else
typedef unsigned char Code;
#endif

constexpr int WARP = 32;
constexpr unsigned int WHOLE_WARP = 0xffffffffu;
// Sums over rows that are taken at a time; a buffer holds half the lanes of each.
constexpr int MOST_SUMS = 4;
constexpr int HALF_LANES = LANES / 2;

// Rows of Chain.point; when a step is judged, GRADIENT and PRECISION become the squares and logs of the way there.
constexpr int HERE = 0, GRADIENT = 1, PRECISION = 2, THERE = 3, BACK_SQUARE = 4, BACK_LOG = 5;
constexpr int FORTH_SQUARE = GRADIENT, FORTH_LOG = PRECISION;
// Where screens are compared with none, a row for the squares of the step taken.
constexpr int JUMP = 6, POINT_ROWS = SCREENED ? 7 : 6;

struct Chain {
    const Problem* problem;
    // Of a chain that looks at subsets: all rows, the subset (then `problem`), and which rows it takes; else null.
    const Problem* whole;
    long long* rows;
    Problem part;
    const Settings* settings;
    State* state;
    DeviceWork* work;
    // Of a chain that screens proposals on subsets: scratch space for all rows and for the subset.
    DeviceWork* whole_work;
    DeviceWork part_work;
    double lanes[MOST_SUMS][HALF_LANES];
    double stripe_sums[MOST_SUMS];
    double sums[4 * MOST_VARIABLES + 3];
    double moments[2];
    double means[2];
    double point[POINT_ROWS][2 * MOST_VARIABLES + 1];
    int trial_features[MOST_VARIABLES];
    double trial_b[MOST_VARIABLES];
    double trial_gamma[MOST_VARIABLES];
    int sorted_set[MOST_VARIABLES];
    // What the leader lets the others know.
    int move;
    int order;
    int first;
    int old_feature;
    int new_feature;
    int inside;
    int accepted;
    int going_on;
    int screening;
    int screen[N_SCREENS];
    int passed;
    int factor;
    int moved;
    int table_is_now;
    double beta;
    double old_beta;
    double log_ratio;
    double intercept;
    double pivot;
    // What the leader keeps from one of its sections to the next, out of registers.
    double old_moments[2];
    double log_screen;
    double kept[3];
};

// One a block of threads. At an address that is known, it takes no register of any function.
__shared__ Chain chain;

INTERNAL bool leader() { return threadIdx.x == 0; }

// Threads that own rows: with more than there are lanes, the surplus only meets at barriers.
INTERNAL int row_threads() { return blockDim.x < LANES ? (int)blockDim.x : LANES; }

// First bin of this thread among n; the next is row_threads() on.
INTERNAL int first_bin(int n) { return (int)threadIdx.x < LANES ? (int)threadIdx.x : n; }

template <class T>
INTERNAL T* at(long long address) {
    return reinterpret_cast<T*>(address);
}

INTERNAL int rows_of() { return (int)chain.problem->n; }

// A basis function: rows 0 ... K - 1 for the terms, K_max for the trial.
INTERNAL float* phi_of(int row) {
    return at<float>(chain.work->phi) + (long long)row * chain.problem->n;
}

INTERNAL const Code* codes_of(int feature) {
    return at<const Code>(chain.problem->codes) + (long long)feature * chain.problem->stride;
}

// Where the codes of row i stand: that row, or the one that a subset takes in its place.
INTERNAL int row_at(const long long* rows, int i) { return rows ? (int)rows[i] : i; }

// Visit all rows of this thread, stripe after stripe.
template <class Visit>
INTERNAL void each_row_of(const Problem* problem, Visit visit) {
    if ((int)threadIdx.x >= LANES) return;
    const long long* stripe = problem->stripe;
    for (int s = 0; s < STRIPES; ++s) {
        const int stop = (int)stripe[s + 1];
        for (int i = (int)stripe[s] + (int)threadIdx.x; i < stop; i += row_threads()) visit(i);
    }
}

// Visit those of what is looked at.
template <class Visit>
INTERNAL void each_row(Visit visit) {
    each_row_of(chain.problem, visit);
}

// Tables 0 ... D - 1 are factors, then come slopes in b, then slopes in log gamma.
INTERNAL float* table_of(int table) {
#if TABLES_IN_SHARED
    return shared_tables + table * (int)chain.work->table_width;
#else
    return at<float>(chain.work->table) + table * chain.work->table_width;
#endif
}

// Row of the scratch vectors of the joint draw.
INTERNAL double* vector_of(int row) {
    return at<double>(chain.work->vector) + row * (chain.settings->K_max + 1);
}

}  // namespace raytpnn
