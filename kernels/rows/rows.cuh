// Passes over the rows: all work that grows with n is here and in the tables (raytpnn/engine/rows/row_passes.py).
//
// Every pass stays on its thread's own rows. A coefficient of 0 reads no basis function.
#pragma once

#include "families/registered.cuh"
#include "rows/basis.cuh"

namespace raytpnn {

INTERNAL double* fit_of() { return at<double>(chain.work->fit); }

// Multiply factor table j into a basis function, or start it with the first factor.
UNIT void multiply_factor(int feature, int j, int row) {
    const int missing = (int)chain.work->table_width - 1;
    const float* table = table_of(j);
    const Code* codes = codes_of(feature);
    const long long* rows = chain.rows;
    float* phi = phi_of(row);
    each_row([=](int i) {
        const float factor = table[entry(codes[row_at(rows, i)], missing)];
        phi[i] = j == 0 ? factor : phi[i] * factor;
    });
}

// The fit with new_beta * phi[new_row] in the place of old_beta * phi[old_row].
struct Change {
    const double* fit;
    const float* old_phi;
    double old_beta;
    const float* new_phi;
    double new_beta;

    INTERNAL double operator()(int i) const {
        const double old_part = old_beta == 0.0 ? 0.0 : old_beta * old_phi[i];
        const double new_part = new_beta == 0.0 ? 0.0 : new_beta * new_phi[i];
        return (fit[i] - old_part) + new_part;
    }
};

INTERNAL Change change_of(const double* fit, int old_row, double old_beta, int new_row,
                          double new_beta) {
    return {fit, phi_of(old_row), old_beta, phi_of(new_row), new_beta};
}

// What a row adds to the sums with the slopes in b and in log gamma of factor j, with the derivatives that
// `evaluate` left.
struct SlopesOfRow {
    const int* features;
    int d;
    int j;

    INTERNAL void operator()(int i, double* sums) const {
        const int width = (int)chain.work->table_width;
        const int D = (int)chain.settings->max_order;
        const float* factors = table_of(0);
        const float* slope_b = table_of(D + j);
        const float* slope_gamma = table_of(2 * D + j);
        // The factor itself first, then the others in the order of the term.
        const int place = row_at(chain.rows, i);
        const int code = entry(codes_of(features[j])[place], width - 1);
        float in_b = slope_b[code];
        float in_gamma = slope_gamma[code];
        for (int other = 0; other < d; ++other) {
            if (other == j) continue;
            const float factor = factors[other * width + entry(codes_of(features[other])[place], width - 1)];
            in_b = in_b * factor;
            in_gamma = in_gamma * factor;
        }
        const double s = at<const double>(chain.work->score)[i], c = at<const double>(chain.work->curvature)[i];
        const double b = in_b, gamma = in_gamma;
        sums[0] += s * b;
        sums[1] += (c * b) * b;
        sums[2] += s * gamma;
        sums[3] += (c * gamma) * gamma;
    }
};

// Sums with the slopes of factor j over all rows, after those of `evaluate`.
UNIT void slope_sums(const int* features, int d, int j) {
    row_sums<4>(4, chain.sums + 3 + 4 * j, SlopesOfRow{features, d, j});
}

// Evaluate the family at a changed fit, left in trial_fit. Fills chain.sums: at 0 the log-likelihood
// (LIKELIHOOD), at 1 and 2 the moments of phi[row] with score and curvature (MOMENTS) or the sums of these
// (TOTALS). Score and curvature stay in the work space if DERIVATIVES are asked for, and are left alone if not.
UNIT void evaluate(const double* fit, int old_row, double old_beta, int new_row, double new_beta, int need, int row) {
    const int family = (int)chain.settings->family;
    const double dispersion = chain.state->scalar[NUISANCE];
    const Change changed = change_of(fit, old_row, old_beta, new_row, new_beta);
    const float* phi = phi_of(row);
    const double* y = at<const double>(chain.problem->y);
    const double* w = at<const double>(chain.problem->w);
    double* trial = at<double>(chain.work->trial_fit);
    double* score = at<double>(chain.work->score);
    double* curvature = at<double>(chain.work->curvature);
    row_sums<3>(3, chain.sums, [=](int i, double* sums) {
        const double f = changed(i);
        trial[i] = f;
        const FamilyRow given = family_row(family, y[i], f, w[i], dispersion, need);
        if (need & DERIVATIVES) {
            score[i] = given.score;
            curvature[i] = given.curvature;
        }
        if (need & LIKELIHOOD) sums[0] += given.loglik;
        if (need & MOMENTS) {
            const double value = phi[i];
            sums[1] += given.score * value;
            sums[2] += (given.curvature * value) * value;
        }
        if (need & TOTALS) {
            sums[1] += given.score;
            sums[2] += given.curvature;
        }
    });
}

// The same at the fit with the slopes of d factors.
UNIT void evaluate_slopes(int old_row, double old_beta, int new_row, double new_beta, int need, int row,
                          const int* features, int d) {
    evaluate(fit_of(), old_row, old_beta, new_row, new_beta, need, row);
    for (int j = 0; j < d; ++j) slope_sums(features, d, j);
}

// Evaluate at the fit as it is.
INTERNAL void evaluate_at(const double* fit, int need) {
    evaluate(fit, 0, 0.0, 0, 0.0, need, 0);
}

// Sums of score * phi and curvature * phi^2 with the derivatives in the work space, into chain.moments.
UNIT void phi_moments(int row) {
    const double* score = at<const double>(chain.work->score);
    const double* curvature = at<const double>(chain.work->curvature);
    const float* phi = phi_of(row);
    row_sums<2>(2, chain.moments, [=](int i, double* sums) {
        const double value = phi[i];
        sums[0] += score[i] * value;
        sums[1] += (curvature[i] * value) * value;
    });
}

// Put new_beta * phi[row] in the place of term k in the fit, and phi[row] in that of phi[k].
UNIT void replace_term(int k, double old_beta, int row, double new_beta) {
    double* fit = fit_of();
    float* old_phi = phi_of(k);
    const float* new_phi = phi_of(row);
    const Change changed = change_of(fit, k, old_beta, row, new_beta);
    each_row([=](int i) {
        fit[i] = changed(i);
        old_phi[i] = new_phi[i];
    });
}

// Copy one basis function to another row.
UNIT void copy_phi(int source, int target) {
    float* left = phi_of(target);
    const float* right = phi_of(source);
    each_row([=](int i) { left[i] = right[i]; });
}

// Write a changed fit to trial_fit, which may be the one to start from, and evaluate nothing.
UNIT void change_trial_fit(const double* fit, int old_row, double old_beta, int new_row, double new_beta) {
    const Change changed = change_of(fit, old_row, old_beta, new_row, new_beta);
    double* trial = at<double>(chain.work->trial_fit);
    each_row([=](int i) { trial[i] = changed(i); });
}

// Take trial_fit over as the fit.
UNIT void take_trial_fit() {
    double* fit = fit_of();
    const double* trial = at<const double>(chain.work->trial_fit);
    each_row([=](int i) { fit[i] = trial[i]; });
}

// Add a constant to the fit.
UNIT void shift_fit(double amount) {
    double* fit = fit_of();
    each_row([=](int i) { fit[i] += amount; });
}

// Write offset + intercept + sum of coefficients * phi, terms in stored order, to a fit.
UNIT void fit_from_terms(int K, double intercept, const double* coefficients, double* out) {
    const int n = rows_of();
    const double* offset = at<const double>(chain.problem->offset);
    const float* phi = phi_of(0);
    each_row([=](int i) {
        double value = offset[i] + intercept;
        for (int k = 0; k < K; ++k) value += coefficients[k] * phi[(long long)k * n + i];
        out[i] = value;
    });
}

// Weighted Gram matrix of (1, phi_1, ..., phi_K), lower triangle, into the work space.
UNIT void gram_matrix(int K) {
    const int n = rows_of();
    const int side = (int)chain.settings->K_max + 1;
    double* gram = at<double>(chain.work->gram);
    const double* w = at<const double>(chain.problem->w);
    const float* phi = phi_of(0);
    for (int left = 0; left <= K; ++left) {
        for (int first = 0; first <= left; first += MOST_SUMS) {
            const int count = left + 1 - first < MOST_SUMS ? left + 1 - first : MOST_SUMS;
            double* out = gram + (long long)left * side + first;
            row_sums<MOST_SUMS>(count, out, [=](int i, double* sums) {
                const double weighted = left == 0 ? w[i] : w[i] * phi[(long long)(left - 1) * n + i];
                for (int s = 0; s < MOST_SUMS; ++s) {
                    const int right = first + s;
                    if (s < count) sums[s] += right == 0 ? weighted : weighted * phi[(long long)(right - 1) * n + i];
                }
            });
        }
    }
}

// out[1:] = score in the work space against phi_1, ..., phi_K.
UNIT void score_of_terms(int K, double* out) {
    const int n = rows_of();
    const double* score = at<const double>(chain.work->score);
    const float* phi = phi_of(0);
    for (int first = 0; first < K; first += MOST_SUMS) {
        const int count = K - first < MOST_SUMS ? K - first : MOST_SUMS;
        row_sums<MOST_SUMS>(count, out + 1 + first, [=](int i, double* sums) {
            for (int s = 0; s < MOST_SUMS; ++s)
                if (s < count) sums[s] += score[i] * phi[(long long)(first + s) * n + i];
        });
    }
}

}  // namespace raytpnn
