"""Figures of the paper, as printed there: mean and standard error over five splits that are not ours."""

from __future__ import annotations

__all__ = [
    "CONCEPTS",
    "DEEP_ENSEMBLE",
    "GAMMA_PRIOR",
    "GENOMICS",
    "MINIBATCH",
    "NON_BAYESIAN",
    "NOVELTY",
    "POISSON",
    "PREDICTION",
    "PROPOSALS",
    "RUNTIME",
    "SELECTION",
    "STABILITY",
    "STEPWISE",
    "STEP_SIZES",
    "TOP_COMPONENTS",
    "UNCERTAINTY",
]

Figure = tuple[float, float]

# RMSE, or AUROC of two classes.
PREDICTION: dict[str, dict[str, Figure]] = {
    "abalone": {
        "Bayesian-TPNN": (2.053, 0.26),
        "ANOVA-TPNN": (2.051, 0.21),
        "NAM": (2.062, 0.23),
        "Linear": (2.244, 0.22),
        "XGB": (2.157, 0.24),
        "BART": (2.197, 0.26),
        "mBNN": (2.081, 0.24),
    },
    "boston_housing": {
        "Bayesian-TPNN": (3.654, 0.49),
        "ANOVA-TPNN": (3.671, 0.56),
        "NAM": (3.832, 0.67),
        "Linear": (5.892, 0.77),
        "XGB": (4.130, 0.56),
        "BART": (4.073, 0.67),
        "mBNN": (4.277, 0.51),
    },
    "auto_mpg": {
        "Bayesian-TPNN": (2.386, 0.41),
        "ANOVA-TPNN": (2.623, 0.38),
        "NAM": (2.755, 0.41),
        "Linear": (3.748, 0.41),
        "XGB": (2.531, 0.26),
        "BART": (2.699, 0.43),
        "mBNN": (2.897, 0.42),
    },
    "servo": {
        "Bayesian-TPNN": (0.351, 0.02),
        "ANOVA-TPNN": (0.594, 0.04),
        "NAM": (0.802, 0.04),
        "Linear": (1.117, 0.04),
        "XGB": (0.314, 0.04),
        "BART": (0.342, 0.04),
        "mBNN": (0.301, 0.04),
    },
    "heloc": {
        "Bayesian-TPNN": (0.793, 0.009),
        "ANOVA-TPNN": (0.802, 0.008),
        "NAM": (0.764, 0.019),
        "Linear": (0.690, 0.010),
        "XGB": (0.793, 0.009),
        "BART": (0.701, 0.015),
        "mBNN": (0.740, 0.008),
    },
    "breast_cancer_wdbc": {
        "Bayesian-TPNN": (0.998, 0.001),
        "ANOVA-TPNN": (0.998, 0.001),
        "NAM": (0.976, 0.003),
        "Linear": (0.922, 0.010),
        "XGB": (0.995, 0.002),
        "BART": (0.977, 0.006),
        "mBNN": (0.978, 0.002),
    },
    "telco_churn": {
        "Bayesian-TPNN": (0.849, 0.008),
        "ANOVA-TPNN": (0.848, 0.006),
        "NAM": (0.835, 0.008),
        "Linear": (0.720, 0.002),
        "XGB": (0.848, 0.006),
        "BART": (0.835, 0.008),
        "mBNN": (0.833, 0.008),
    },
    "madelon": {
        "Bayesian-TPNN": (0.854, 0.013),
        "ANOVA-TPNN": (0.587, 0.013),
        "NAM": (0.644, 0.005),
        "Linear": (0.548, 0.011),
        "XGB": (0.884, 0.006),
        "BART": (0.751, 0.011),
        "mBNN": (0.650, 0.018),
    },
}

# CRPS (ECE of two classes), then NLL.
UNCERTAINTY: dict[str, dict[str, tuple[Figure, Figure]]] = {
    "abalone": {
        "Bayesian-TPNN": ((1.372, 0.19), (2.260, 0.16)),
        "BART": ((1.384, 0.18), (2.261, 0.16)),
        "mBNN": ((1.399, 0.16), (2.226, 0.16)),
    },
    "boston_housing": {
        "Bayesian-TPNN": ((2.202, 0.23), (3.411, 0.37)),
        "BART": ((2.623, 0.25), (3.400, 0.42)),
        "mBNN": ((3.144, 0.39), (3.488, 0.26)),
    },
    "auto_mpg": {
        "Bayesian-TPNN": ((1.510, 0.43), (2.511, 0.21)),
        "BART": ((1.553, 0.27), (2.530, 0.20)),
        "mBNN": ((2.142, 0.42), (2.710, 0.24)),
    },
    "servo": {
        "Bayesian-TPNN": ((0.194, 0.01), (0.836, 0.10)),
        "BART": ((0.202, 0.02), (0.849, 0.08)),
        "mBNN": ((0.185, 0.02), (0.321, 0.08)),
    },
    "heloc": {
        "Bayesian-TPNN": ((0.036, 0.004), (0.554, 0.007)),
        "BART": ((0.054, 0.011), (0.632, 0.012)),
        "mBNN": ((0.219, 0.032), (0.773, 0.046)),
    },
    "breast_cancer_wdbc": {
        "Bayesian-TPNN": ((0.129, 0.009), (0.211, 0.014)),
        "BART": ((0.118, 0.010), (0.143, 0.032)),
        "mBNN": ((0.292, 0.018), (0.523, 0.025)),
    },
    "telco_churn": {
        "Bayesian-TPNN": ((0.031, 0.001), (0.418, 0.008)),
        "BART": ((0.035, 0.001), (0.430, 0.010)),
        "mBNN": ((0.168, 0.037), (0.531, 0.036)),
    },
    "madelon": {
        "Bayesian-TPNN": ((0.076, 0.004), (0.478, 0.009)),
        "BART": ((0.066, 0.004), (0.685, 0.032)),
        "mBNN": ((0.252, 0.020), (0.840, 0.031)),
    },
}

# RMSE or AUROC, CRPS or ECE, NLL.
DEEP_ENSEMBLE: dict[str, tuple[Figure, Figure, Figure]] = {
    "abalone": ((2.121, 0.23), (1.498, 0.17), (2.036, 0.15)),
    "boston_housing": ((3.922, 0.57), (2.458, 0.22), (3.747, 0.40)),
    "auto_mpg": ((2.257, 0.14), (1.481, 0.11), (2.769, 0.47)),
    "servo": ((0.398, 0.03), (0.179, 0.01), (0.701, 0.04)),
    "heloc": ((0.773, 0.024), (0.057, 0.033), (0.577, 0.034)),
    "breast_cancer_wdbc": ((0.993, 0.003), (0.075, 0.017), (0.133, 0.041)),
    "telco_churn": ((0.841, 0.013), (0.039, 0.002), (0.424, 0.018)),
    "madelon": ((0.616, 0.029), (0.137, 0.061), (0.719, 0.049)),
}

# CRPS, or ECE and NLL of two classes, of ANOVA-TPNN, NAM, XGB and Linear.
NON_BAYESIAN: dict[str, dict[str, tuple[Figure, ...]]] = {
    "abalone": {
        "ANOVA-TPNN": ((1.578, 0.16),),
        "NAM": ((1.901, 0.27),),
        "XGB": ((1.668, 0.16),),
        "Linear": ((1.638, 0.15),),
    },
    "boston_housing": {
        "ANOVA-TPNN": ((4.464, 0.71),),
        "NAM": ((3.147, 0.35),),
        "XGB": ((3.241, 0.27),),
        "Linear": ((4.291, 0.44),),
    },
    "auto_mpg": {
        "ANOVA-TPNN": ((2.478, 0.45),),
        "NAM": ((3.314, 1.07),),
        "XGB": ((2.343, 0.35),),
        "Linear": ((2.990, 0.32),),
    },
    "servo": {
        "ANOVA-TPNN": ((0.595, 0.02),),
        "NAM": ((0.868, 0.39),),
        "XGB": ((0.215, 0.03),),
        "Linear": ((0.910, 0.04),),
    },
    "heloc": {
        "ANOVA-TPNN": ((0.063, 0.017), (0.583, 0.018)),
        "NAM": ((0.198, 0.007), (0.681, 0.012)),
        "XGB": ((0.096, 0.026), (0.620, 0.015)),
        "Linear": ((0.055, 0.014), (0.593, 0.017)),
    },
    "breast_cancer_wdbc": {
        "ANOVA-TPNN": ((0.100, 0.030), (0.423, 0.071)),
        "NAM": ((0.284, 0.022), (0.511, 0.033)),
        "XGB": ((0.063, 0.012), (0.878, 0.172)),
        "Linear": ((0.102, 0.015), (0.216, 0.039)),
    },
    "telco_churn": {
        "ANOVA-TPNN": ((0.053, 0.004), (0.444, 0.011)),
        "NAM": ((0.318, 0.007), (0.718, 0.008)),
        "XGB": ((0.131, 0.006), (0.594, 0.021)),
        "Linear": ((0.078, 0.004), (0.573, 0.002)),
    },
    "madelon": {
        "ANOVA-TPNN": ((0.354, 0.014), (0.752, 0.003)),
        "NAM": ((0.156, 0.009), (0.735, 0.016)),
        "XGB": ((0.147, 0.008), (0.703, 0.035)),
        "Linear": ((0.232, 0.011), (0.736, 0.016)),
    },
}

# AUROC of orders 1, 2 and 3: Bayesian-TPNN, with uniform p_input, ANOVA-T2PNN and NA2M (no third order).
SELECTION = {
    "f1": {
        "Bayesian-TPNN": (1.000, 1.000, 0.740),
        "UBayesian-TPNN": (1.000, 0.988, 0.736),
        "ANOVA-T2PNN": (0.999, 0.978),
        "NA2M": (0.528, 0.508),
    },
    "f2": {
        "Bayesian-TPNN": (0.831, 0.985, 0.966),
        "UBayesian-TPNN": (0.826, 0.953, 0.878),
        "ANOVA-T2PNN": (0.859, 0.949),
        "NA2M": (0.417, 0.838),
    },
    "f3": {
        "Bayesian-TPNN": (1.000, 0.922, 0.661),
        "UBayesian-TPNN": (0.824, 0.750, 0.658),
        "ANOVA-T2PNN": (0.781, 0.704),
        "NA2M": (0.522, 0.542),
    },
}

# Five leading components and their scores over the largest; features are numbered from 1.
TOP_COMPONENTS = {
    "madelon": "(49, 242, 319, 339) 1.000; (129, 443, 494) 0.472; (379, 443) 0.374; 106 0.322; "
    "(242, 443) 0.301",
    "madelon, uniform": "(203, 289, 421) 1.000; (30, 149, 212) 0.950; (148, 176, 298) 0.006; "
    "(75, 232, 442) 0.005; (64, 373, 379) 0.004",
    "madelon, without stepwise": "(129, 242) 1.000; (29, 339, 379) 0.986; 339 0.622; 337 0.544; "
    "(242, 443) 0.526",
    "servo": "pgain 1.000; (pgain, motor A, motor B, motor C) 0.554; motor B 0.202; "
    "(motor B, motor D) 0.193; screw A 0.173",
}

# AUROC on Madelon with uniform proposals and with those by XGBoost.
PROPOSALS = {"uniform": (0.739, 0.002), "xgboost": (0.854, 0.007)}
# AUROC, ECE and NLL on Madelon.
STEPWISE = {
    "with": ((0.854, 0.007), (0.076, 0.004), (0.479, 0.009)),
    "without": ((0.820, 0.002), (0.106, 0.007), (0.650, 0.005)),
}
# RMSE on Abalone by (b_gamma, a_gamma), and by step size.
GAMMA_PRIOR = {
    1e-5: {0.5: 3.247, 1.0: 3.202, 2.0: 3.278, 3.0: 3.228},
    1e-4: {0.5: 3.224, 1.0: 3.215, 2.0: 3.184, 3.0: 3.175},
    1e-2: {0.5: 3.211, 1.0: 3.182, 2.0: 3.184, 3.0: 3.175},
    1e-1: {0.5: 3.213, 1.0: 3.258, 2.0: 3.282, 3.0: 3.343},
}
STEP_SIZES = {
    0.01: 3.199,
    0.02: 3.216,
    0.04: 3.209,
    0.08: 3.269,
    0.1: 3.160,
    0.2: 3.243,
    0.3: 4.308,
    0.4: 4.549,
    0.5: 4.578,
}
# RMSE of the mean and NLL, of Bayesian-TPNN and of GBART.
POISSON = {"Bayesian-TPNN": (0.094, 1.615), "GBART": (0.141, 1.629)}
# Orders 1 and up to 2: Bayesian-TPNN, ANOVA-TPNN, NAM.
STABILITY: dict[str, tuple[tuple[float, float, float], tuple[float, ...]]] = {
    "abalone": ((0.087, 0.405, 0.555), (0.400, 0.340, 0.770)),
    "boston_housing": ((0.368, 0.425, 0.583), (0.615, 0.380, 0.705)),
    "auto_mpg": ((0.222, 0.411, 0.472), (0.340, 0.370, 0.560)),
    "servo": ((0.339, 0.651, 0.481), (0.445, 0.575, 0.665)),
    "heloc": ((0.130, 0.287, 0.607), (0.525, 0.540, 0.790)),
    "breast_cancer_wdbc": ((0.100, 0.286, 0.569), (0.630, 0.675, 0.730)),
    "telco_churn": ((0.111, 0.558, 0.569), (0.520, 0.755, 0.730)),
    "madelon": ((0.520, 0.685, 0.785), (0.475,)),
}
NOVELTY: dict[str, dict[str, Figure]] = {
    "heloc": {
        "Bayesian-TPNN": (0.606, 0.013),
        "ANOVA-TPNN": (0.446, 0.020),
        "NAM": (0.455, 0.032),
        "Linear": (0.191, 0.002),
        "XGB": (0.605, 0.018),
        "BART": (0.667, 0.004),
        "mBNN": (0.519, 0.014),
    },
    "breast_cancer_wdbc": {
        "Bayesian-TPNN": (0.903, 0.015),
        "ANOVA-TPNN": (0.542, 0.021),
        "NAM": (0.534, 0.041),
        "Linear": (0.112, 0.010),
        "XGB": (0.827, 0.022),
        "BART": (0.664, 0.023),
        "mBNN": (0.503, 0.051),
    },
    "telco_churn": {
        "Bayesian-TPNN": (0.724, 0.006),
        "ANOVA-TPNN": (0.570, 0.040),
        "NAM": (0.533, 0.040),
        "Linear": (0.442, 0.006),
        "XGB": (0.420, 0.014),
        "BART": (0.598, 0.009),
        "mBNN": (0.599, 0.039),
    },
}
# RMSE or AUROC, CRPS or ECE, NLL; all rows, and minibatches.
MINIBATCH = {
    "abalone": (((2.053, 0.26), (1.372, 0.19), (2.260, 0.16)), ((2.081, 0.24), (1.391, 0.17), (2.280, 0.18))),
    "heloc": (
        ((0.793, 0.009), (0.036, 0.004), (0.554, 0.007)),
        ((0.788, 0.005), (0.038, 0.003), (0.564, 0.003)),
    ),
}
# AUROC on GSE43358, which is not to be had here.
GENOMICS = {"Bayesian-TPNN": (0.949, 0.017), "Linear": (0.545, 0.001), "XGB": (0.953, 0.041)}
# AUROC on predicted concepts of images.
CONCEPTS = {
    "CelebA-HQ": {
        "Bayesian-TPNN": (0.936, 0.002),
        "ANOVA-T2PNN": (0.923, 0.002),
        "NA2M": (0.922, 0.002),
        "Linear": (0.893, 0.003),
    },
    "CatDog": {
        "Bayesian-TPNN": (0.878, 0.002),
        "ANOVA-T2PNN": (0.853, 0.002),
        "NA2M": (0.851, 0.002),
        "Linear": (0.711, 0.001),
    },
}
# Seconds of 2,000 iterations on a GPU: Bayesian-TPNN, mBNN, ANOVA-T2PNN (2,000 epochs).
RUNTIME: dict[str, tuple[int, int, int | None]] = {
    "abalone": (475, 1273, 326),
    "boston_housing": (181, 266, 577),
    "auto_mpg": (156, 275, 227),
    "servo": (159, 242, 400),
    "heloc": (943, 4198, 3530),
    "breast_cancer_wdbc": (181, 310, 2363),
    "telco_churn": (686, 2756, 7772),
    "madelon": (345, 894, None),
}
