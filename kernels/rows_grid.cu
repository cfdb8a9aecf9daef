// Row passes of one chain whose rows lie on one or several devices: a block of threads takes one block of 4,096
// rows, so that a single chain fills a device. The moves run on the host (raytpnn/engine/gpu/grid/rows.py).
//
// Every kernel takes the rows of its device and one command. Threads are as many as lanes, and every row belongs to
// one thread of one block: no row is written by one and read by another within a launch. Sums go to `partial`, one
// line a row block; `grid_join` adds them in block order to those of their stripe, the host adds stripes in order.
//
// The rows may be a subset of those on the device, drawn by `grid_subset`: it has fits, responses and basis functions of
// its own, while codes stay where they are and are looked up by row.
#include "rows/bin_sums.cuh"
#include "rows/subset.cuh"

namespace raytpnn {

// Rows start ... stop - 1, of which this thread has every LANES-th.
struct GridRows {
    int start;
    int stop;
};

INTERNAL GridRows rows_of_block(const GridShard& shard, int row_block) {
    const int* starts = at<const int>(shard.block_start);
    return {starts[row_block], starts[row_block + 1]};
}

INTERNAL float* grid_phi(const GridShard& shard, long long row) { return at<float>(shard.phi) + row * shard.n; }

// A coefficient of 0 reads no basis function.
INTERNAL Change grid_change(const GridShard& shard, const GridCommand& command) {
    return {at<const double>(command.fit), grid_phi(shard, command.old_row), command.old_beta,
            grid_phi(shard, command.new_row), command.new_beta};
}

template <class Visit>
INTERNAL void each_grid_row(GridRows rows, Visit visit) {
    for (int i = rows.start + (int)threadIdx.x; i < rows.stop; i += LANES) visit(i);
}

// Sums over the rows of a block in the order of lanes.cuh, of more sums than its buffer holds at a time.
// `add(i, sums)` adds what row i gives, `put(s, total)` takes the sums, each in one thread.
template <int MOST, class Add, class Put>
INTERNAL void grid_sums(GridRows rows, Add add, Put put) {
    const int lane = threadIdx.x;
    double sums[MOST];
#pragma unroll
    for (int s = 0; s < MOST; ++s) sums[s] = 0.0;
    // One row of a thread at a time: more would take the registers that let other blocks of threads in.
#pragma unroll 1
    for (int i = rows.start + lane; i < rows.stop; i += LANES) add(i, sums);
#pragma unroll
    for (int first = 0; first < MOST; first += MOST_SUMS) {
        if (lane >= HALF_LANES) {
#pragma unroll
            for (int s = 0; s < MOST_SUMS; ++s)
                if (first + s < MOST) chain.lanes[s][lane - HALF_LANES] = sums[first + s];
        }
        __syncthreads();
        if (lane < HALF_LANES) {
#pragma unroll
            for (int s = 0; s < MOST_SUMS; ++s)
                if (first + s < MOST) chain.lanes[s][lane] = sums[first + s] + chain.lanes[s][lane];
        }
        __syncthreads();
        // One warp a sum.
        const int s = lane / WARP;
        if (s < MOST_SUMS && first + s < MOST) {
            const double total = tree(chain.lanes[s]);
            if (lane % WARP == 0) put(first + s, total);
        }
        __syncthreads();
    }
}

// Tables that follow a command: factors, then if there are slopes those in b, then those in log gamma. In shared memory
// they stand behind the room of `before` others.
INTERNAL const float* grid_tables(const GridShard& shard, const GridCommand& command, int before) {
    const float* tables = at<const float>(command.numbers);
#if TABLES_IN_SHARED
    const int entries = (int)(command.order * (command.slopes ? 3 : 1) * shard.table_width);
    float* place = shared_tables + before * shard.table_width;
    for (int i = threadIdx.x; i < entries; i += LANES) place[i] = tables[i];
    __syncthreads();
    tables = place;
#endif
    return tables;
}

// Entries of the tables of a term at one row.
struct Lookup {
    const Code* codes;
    const int* features;
    const float* tables;
    int width;
    long long stride;
    const int* rows;

    // Where the codes of row i stand: there, or where the subset took it from.
    INTERNAL int cell(int i) const { return rows ? rows[i] : i; }

    // Table `table` at the bin that a cell of the feature of factor j has.
    INTERNAL float operator()(int table, int j, int cell) const {
        return tables[table * width + entry(codes[features[j] * stride + cell], width - 1)];
    }
};

INTERNAL Lookup lookup_of(const GridShard& shard, const GridCommand& command, int before = 0) {
    return {at<const Code>(shard.codes), command.features, grid_tables(shard, command, before), (int)shard.table_width,
            shard.stride, at<const int>(shard.rows)};
}

// What is evaluated: the family at the changed fit. Nothing of it is kept: derivatives are computed again where they
// are needed, which moves fewer bytes than storing them would.
struct Evaluation {
    Change changed;
    const double* y;
    const double* w;
    int family;
    double dispersion;
    int need;

    INTERNAL FamilyRow operator()(int i) const {
        return family_row(family, y[i], changed(i), w[i], dispersion, need);
    }
};

INTERNAL Evaluation evaluation_of(const GridShard& shard, const GridCommand& command) {
    return {grid_change(shard, command), at<const double>(shard.y), at<const double>(shard.w), (int)shard.family,
            command.dispersion, (int)command.need};
}

INTERNAL void add_moments(const FamilyRow& given, double value, double* sums) {
    sums[0] += given.score * value;
    sums[1] += (given.curvature * value) * value;
}

// Log-likelihood, and moments of one basis function or totals.
INTERNAL void add_base(const FamilyRow& given, int need, const float* row, int i, double* sums) {
    if (need & LIKELIHOOD) sums[0] += given.loglik;
    if (need & MOMENTS) add_moments(given, row[i], sums + 1);
    if (need & TOTALS) {
        sums[1] += given.score;
        sums[2] += given.curvature;
    }
}

// Evaluate a term and take sums, those with the slopes of factors from ... from + FACTORS - 1 among them; its basis
// function is written to `target` if there is one.
template <int FACTORS>
INTERNAL void slopes_of_rows(const GridShard& shard, const GridCommand& command, const Lookup& look, GridRows rows,
                             int from, double* out) {
    const Evaluation evaluate = evaluation_of(shard, command);
    const float* row = grid_phi(shard, command.row);
    float* target = command.target < 0 ? nullptr : grid_phi(shard, command.target);
    const int order = (int)command.order;
    grid_sums<TERM_SUMS + SLOPE_SUMS * FACTORS>(
        rows,
        [&](int i, double* sums) {
            // The factor itself first, then the others in the order of the term.
            float in_b[FACTORS], in_gamma[FACTORS], phi = 0.0f;
            const int cell = look.cell(i);
#pragma unroll
            for (int f = 0; f < FACTORS; ++f) {
                const int j = from + f < order ? from + f : order - 1;
                in_b[f] = look(order + j, j, cell);
                in_gamma[f] = look(2 * order + j, j, cell);
            }
            for (int other = 0; other < order; ++other) {
                const float factor = look(other, other, cell);
                phi = other == 0 ? factor : phi * factor;
#pragma unroll
                for (int f = 0; f < FACTORS; ++f) {
                    if (from + f == other) continue;
                    in_b[f] = in_b[f] * factor;
                    in_gamma[f] = in_gamma[f] * factor;
                }
            }
            if (target) target[i] = phi;
            const FamilyRow given = evaluate(i);
            add_base(given, evaluate.need, row, i, sums);
#pragma unroll
            for (int f = 0; f < FACTORS; ++f) {
                add_moments(given, in_b[f], sums + TERM_SUMS + SLOPE_SUMS * f);
                add_moments(given, in_gamma[f], sums + TERM_SUMS + SLOPE_SUMS * f + 2);
            }
        },
        [=](int s, double total) {
            if (s < TERM_SUMS) {
                out[s] = total;
            } else if (s < TERM_SUMS + SLOPE_SUMS * (order - from)) {
                out[s + SLOPE_SUMS * from] = total;
            }
        });
}

}  // namespace raytpnn

// A pass over the rows: block of threads b takes row block b, builds there what is to be built, and writes its sums to
// line b of `partial`, the moments of a second basis function among them. A command without columns only builds.
extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 2)
    grid_pass(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    const Lookup look = lookup_of(*shard, *command);
    const GridRows rows = rows_of_block(*shard, blockIdx.x);
    const Evaluation evaluate = evaluation_of(*shard, *command);
    const auto build = [=](int i) {
        float value = command->source < 0 ? 0.0f : grid_phi(*shard, command->source)[i];
        const int cell = look.cell(i);
        for (int j = 0; j < command->order; ++j) {
            const float factor = look(j, j, cell);
            value = j == 0 && command->source < 0 ? factor : value * factor;
        }
        grid_phi(*shard, command->target)[i] = value;
    };
    if (command->columns == 0) {
        each_grid_row(rows, build);
        return;
    }
    grid_sums<PASS_SUMS>(
        rows,
        [&](int i, double* sums) {
            if (command->target >= 0) build(i);
            const FamilyRow given = evaluate(i);
            add_base(given, evaluate.need, grid_phi(*shard, command->row), i, sums);
            if (command->second >= 0) add_moments(given, grid_phi(*shard, command->second)[i], sums + TERM_SUMS);
        },
        [=](int s, double total) {
            at<double>(shard->partial)[blockIdx.x * command->columns + s] = total;
        });
}

// The same with the slopes of one or two factors, and with those of any number of them: kernels of their own, since
// the registers that sums take decide how many blocks of threads fit on a multiprocessor.
extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 2)
    grid_slopes(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    const Lookup look = lookup_of(*shard, *command);
    double* out = at<double>(shard->partial) + blockIdx.x * command->columns;
    slopes_of_rows<2>(*shard, *command, look, rows_of_block(*shard, blockIdx.x), 0, out);
}

extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 2)
    grid_many_slopes(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    const Lookup look = lookup_of(*shard, *command);
    const GridRows rows = rows_of_block(*shard, blockIdx.x);
    double* out = at<double>(shard->partial) + blockIdx.x * command->columns;
    for (int from = 0; from < command->order; from += 4) slopes_of_rows<4>(*shard, *command, look, rows, from, out);
}

// Sums of every bin of one factor of a term, at the fit without it, added to those at `out`: whole numbers, so that
// threads and blocks of threads may come in any order. The feature stands behind those of the other factors.
extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 3)
    grid_bins(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    const int columns = (int)command->columns;
    Count* out = at<Count>(command->out);
    Count* counts = out;
#if TABLES_IN_SHARED
    counts = reinterpret_cast<Count*>(shared_tables);
    for (int i = threadIdx.x; i < columns; i += LANES) counts[i] = 0;
#endif
    const Lookup look = lookup_of(*shard, *command, BIN_TABLES);
    const Evaluation evaluate = evaluation_of(*shard, *command);
    const int order = (int)command->order;
    each_grid_row(rows_of_block(*shard, blockIdx.x), [&](int i) {
        const int cell = look.cell(i);
        // Rows whose value is missing have a code beyond the bins.
        const int bin = look.codes[look.features[order] * look.stride + cell];
        if (2 * bin >= columns) return;
        float others = 1.0f;
        for (int j = 0; j < order; ++j) others = others * look(j, j, cell);
        add_to_bin(counts, bin, evaluate(i), others, command->amount);
    });
#if TABLES_IN_SHARED
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += LANES)
        if (counts[i] != 0) atomicAdd(out + i, counts[i]);
#endif
}

// Write the changed fit to `out`, then copy a basis function; either may be left out.
extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 4)
    grid_update(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    const Change changed = grid_change(*shard, *command);
    double* out = at<double>(command->out);
    float* target = command->target < 0 ? nullptr : grid_phi(*shard, command->target);
    const float* source = grid_phi(*shard, command->source);
    each_grid_row(rows_of_block(*shard, blockIdx.x), [=](int i) {
        if (out) out[i] = changed(i);
        if (target) target[i] = source[i];
    });
}

// Add a constant to the fit.
extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 4)
    grid_shift(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    const double amount = command->amount;
    double* out = at<double>(command->out);
    each_grid_row(rows_of_block(*shard, blockIdx.x), [=](int i) { out[i] += amount; });
}

// Write offset + intercept + sum of coefficients * phi, terms in stored order, to `out`.
extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 4)
    grid_terms(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    const double* offset = at<const double>(shard->offset);
    const double* coefficients = at<const double>(command->numbers);
    const float* phi = grid_phi(*shard, 0);
    const long long n = shard->n;
    const int terms = (int)command->terms;
    const double intercept = command->amount;
    double* out = at<double>(command->out);
    each_grid_row(rows_of_block(*shard, blockIdx.x), [=](int i) {
        double value = offset[i] + intercept;
        for (int k = 0; k < terms; ++k) value += coefficients[k] * phi[k * n + i];
        out[i] = value;
    });
}

// Score at the changed fit against SCORE_TERMS terms: block of threads row block * parts + part.
extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 2)
    grid_scores(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    const int terms = (int)command->terms;
    const int parts = (terms + SCORE_TERMS - 1) / SCORE_TERMS;
    const int row_block = blockIdx.x / parts;
    const int first = blockIdx.x % parts * SCORE_TERMS;
    const Evaluation evaluate = evaluation_of(*shard, *command);
    const float* phi = grid_phi(*shard, first);
    const long long n = shard->n;
    double* out = at<double>(shard->partial) + row_block * command->columns + first;
    grid_sums<SCORE_TERMS>(
        rows_of_block(*shard, row_block),
        [&](int i, double* sums) {
            const double score = evaluate(i).score;
#pragma unroll
            for (int s = 0; s < SCORE_TERMS; ++s)
                if (first + s < terms) sums[s] += score * phi[s * n + i];
        },
        [=](int s, double total) {
            if (first + s < terms) out[s] = total;
        });
}

// Part of the weighted Gram matrix of (1, phi_1, ..., phi_K): block of threads row block * tiles + tile. Tiles are
// GRAM_SIDE by GRAM_SIDE, those of the lower triangle line by line, from first_tile on.
extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 2)
    grid_gram(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    constexpr int SUMS = GRAM_SIDE * GRAM_SIDE;
    const int tiles = (int)command->columns / SUMS;
    const int row_block = blockIdx.x / tiles;
    const int tile = blockIdx.x % tiles;
    int left = 0, right = (int)command->first_tile + tile;
    while (right > left) right -= ++left;
    const int terms = (int)command->terms;
    const double* w = at<const double>(shard->w);
    const float* phi = grid_phi(*shard, 0);
    const long long n = shard->n;
    double* out = at<double>(shard->partial) + row_block * command->columns + tile * SUMS;
    // Line 0 is the constant.
    const auto value_at = [=](int line, int i) {
        return line == 0 ? 1.0 : line > terms ? 0.0 : (double)phi[(line - 1) * n + i];
    };
    grid_sums<SUMS>(
        rows_of_block(*shard, row_block),
        [&](int i, double* sums) {
            double values[GRAM_SIDE];
#pragma unroll
            for (int b = 0; b < GRAM_SIDE; ++b) values[b] = value_at(right * GRAM_SIDE + b, i);
#pragma unroll
            for (int a = 0; a < GRAM_SIDE; ++a) {
                const double weighted = w[i] * value_at(left * GRAM_SIDE + a, i);
#pragma unroll
                for (int b = 0; b < GRAM_SIDE; ++b) sums[a * GRAM_SIDE + b] += weighted * values[b];
            }
        },
        [=](int s, double total) { out[s] = total; });
}

// Add the sums of row blocks, in order, to those of their stripe: block of threads stripe * parts + part, a thread a
// column.
extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 4)
    grid_join(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    const int columns = (int)command->columns;
    const int parts = (columns + LANES - 1) / LANES;
    const int stripe = blockIdx.x / parts;
    const int column = blockIdx.x % parts * LANES + (int)threadIdx.x;
    if (column >= columns) return;
    const double* partial = at<const double>(shard->partial) + column;
    const int stop = (int)shard->stripe_block[stripe + 1];
    double total = 0.0;
#pragma unroll 8
    for (int b = (int)shard->stripe_block[stripe]; b < stop; ++b) total += partial[(long long)b * columns];
    at<double>(shard->joined)[stripe * columns + column] = total;
}

// Fit (line 0) and basis functions at the watched rows: block of threads a line.
extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 4)
    grid_watch(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    const int* watched = at<const int>(shard->watched);
    const int line = blockIdx.x;
    const double* fit = at<const double>(command->fit);
    const float* phi = grid_phi(*shard, line - 1);
    double* out = at<double>(shard->seen) + line * shard->n_watched;
    for (int i = threadIdx.x; i < shard->n_watched; i += LANES) out[i] = line == 0 ? fit[watched[i]] : phi[watched[i]];
}

// Draw the subset of a sweep (raytpnn/engine/rows/subset.py): which rows they are, their responses, weights and offsets. A
// stripe that has rows is one stratum of those on the device.
extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 4)
    grid_subset(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    int stripe = 0;
    while ((int)blockIdx.x >= shard->stripe_block[stripe + 1]) ++stripe;
    const GridStratum& stratum = at<const GridStratum>(command->numbers)[stripe];
    const PhiloxWords keys = {(unsigned int)stratum.keys[0], (unsigned int)stratum.keys[1],
                              (unsigned int)stratum.keys[2], (unsigned int)stratum.keys[3]};
    const GridShard& whole = *at<const GridShard>(shard->whole);
    each_grid_row(rows_of_block(*shard, blockIdx.x), [&](int i) {
        const int row = (int)(stratum.start + permuted(i - stratum.first, stratum.size, keys));
        at<int>(shard->rows)[i] = row;
        at<double>(shard->y)[i] = at<const double>(whole.y)[row];
        at<double>(shard->w)[i] = at<const double>(whole.w)[row] * stratum.scale;
        at<double>(shard->offset)[i] = at<const double>(whole.offset)[row];
    });
}

// Fit (line 0) and basis functions of a subset from those of all rows: block of threads row block * lines + line.
extern "C" __global__ void __launch_bounds__(raytpnn::LANES, 4)
    grid_gather(const raytpnn::GridShard* shard, const raytpnn::GridCommand* command) {
    using namespace raytpnn;
    const int lines = (int)command->terms + 1;
    const int line = blockIdx.x % lines;
    const int* from = at<const int>(shard->rows);
    const double* fit = at<const double>(command->fit);
    double* out = at<double>(command->out);
    const int term = line - 1;
    const float* phi = grid_phi(*at<const GridShard>(shard->whole), term);
    float* own_phi = grid_phi(*shard, term);
    each_grid_row(rows_of_block(*shard, blockIdx.x / lines), [=](int i) {
        if (line == 0) {
            out[i] = fit[from[i]];
        } else {
            own_phi[i] = phi[from[i]];
        }
    });
}
