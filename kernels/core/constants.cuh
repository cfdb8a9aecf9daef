// Written by raytpnn/engine/gpu/headers.py from the Python source: do not edit.
#pragma once

namespace raytpnn {

// raytpnn.model.limits
constexpr int MOST_TERMS = 1024;
constexpr int MOST_VARIABLES = 16;
constexpr int GAMMA_SLOTS = 1048576;

// raytpnn.numerics.lanes
constexpr int LANES = 256;
constexpr int BLOCK = 4096;
constexpr int STRIPES = 16;

// raytpnn.engine.records
constexpr int N_SCALARS = 6;
constexpr int INTERCEPT = 0;
constexpr int NUISANCE = 1;
constexpr int B_GAMMA = 2;
constexpr int SIGMA_BETA2 = 3;
constexpr int FIT_LOGLIK = 4;
constexpr int TEMPERATURE = 5;
constexpr int BIRTH = 0;
constexpr int DEATH = 1;
constexpr int ADDING = 2;
constexpr int DELETING = 3;
constexpr int CHANGING = 4;
constexpr int JOINING = 5;
constexpr int LANGEVIN = 6;
constexpr int JOINT_BETA = 7;
constexpr int INTERCEPT_MOVE = 8;
constexpr int COMPONENT = 9;
constexpr int FACTOR = 10;
constexpr int OUTPUT = 11;
constexpr int STOP = 0;
constexpr int SWEEPS_DONE = 1;
constexpr int TERMS = 2;
constexpr int FOR_BIRTH_DEATH = 0;
constexpr int FOR_NEW_SET = 1;
constexpr int FOR_NEW_FACTOR = 2;
constexpr int FOR_NEW_BETA = 3;
constexpr int FOR_RESTRUCTURE = 4;
constexpr int FOR_RESTRUCTURE_FACTOR = 5;
constexpr int FOR_RESTRUCTURE_BETA = 6;
constexpr int FOR_LANGEVIN = 7;
constexpr int FOR_JOINT_BETA = 8;
constexpr int FOR_INTERCEPT = 9;
constexpr int FOR_NUISANCE = 10;
constexpr int FOR_SCALES = 11;
constexpr int FOR_SUBSET = 12;
constexpr int FOR_SCREEN = 13;
constexpr int FOR_JOINED_FACTOR = 14;
constexpr int FOR_COMPONENT = 15;
constexpr int FOR_FACTOR = 16;
constexpr int FOR_OUTPUT = 17;
constexpr int EXACT_ONLY = 0;
constexpr int DELAYED = 1;
constexpr int DELAYED_IF_IT_PAYS = 2;
constexpr int SCREEN_BIRTH_DEATH = 0;
constexpr int SCREEN_ADD_DELETE = 1;
constexpr int SCREEN_CHANGE = 2;
constexpr int SCREEN_WALK = 3;

// raytpnn.engine.gpu.records
constexpr int BEGIN = 1;
constexpr int PRIOR_DRAWS = 2;

// raytpnn.engine.gpu.grid_records
constexpr int TERM_SUMS = 3;
constexpr int PASS_SUMS = 5;
constexpr int SLOPE_SUMS = 4;
constexpr int GRAM_SIDE = 4;
constexpr int SCORE_TERMS = 8;
constexpr int BIN_TABLES = 4;

// raytpnn.families.base
constexpr int DERIVATIVES = 1;
constexpr int LIKELIHOOD = 2;
constexpr int MOST_OUTPUTS = 128;

// raytpnn.engine.rows.row_passes
constexpr int MOMENTS = 4;
constexpr int TOTALS = 8;

// raytpnn.numerics.random
constexpr int MOST_TRIES = 64;
constexpr double STEP = 0x1.0000000000000p-52;

// raytpnn.engine.rows.subset
constexpr int LEAST_OF_STRATUM = 512;
constexpr int FEISTEL_ROUNDS = 8;
constexpr unsigned int MIX_0 = 0x85ebca6bu;
constexpr unsigned int MIX_1 = 0xc2b2ae35u;

// raytpnn.engine.rows.feature_sets
constexpr double LEAST_SHARE = 0x1.0000000000000p-20;

// raytpnn.engine.rows.factor_tables
constexpr double SMALLEST_MEAN = 0x1.4484bfeebc2a0p-100;
constexpr double SMALLEST_HEIGHT = 0x1.5798ee2308c3ap-27;

// raytpnn.engine.moves.coefficient
constexpr double LOG_2_PI = 0x1.d67f1c864beb4p+0;
constexpr double NEWTON_SHARE = 0x1.ccccccccccccdp-1;

// raytpnn.engine.moves.langevin
constexpr double UNIFORM_PRECISION = 0x1.8000000000000p+3;

// raytpnn.engine.moves.scalars
constexpr double WALK_WIDTH = 0x1.3333333333333p+1;

// raytpnn.engine.moves.birth_death
constexpr int COPY_ATTEMPT = 17;
constexpr int TABLE_ATTEMPT = 18;

// raytpnn.engine.rows.set_table
constexpr int MOST_IN_TABLE = 3;

// raytpnn.engine.moves.change_features
constexpr int JOIN_ATTEMPT = 3;
constexpr int SCREEN_SLOTS = 1048576;

// raytpnn.engine.moves.delayed_acceptance
constexpr double MARGIN = 0x1.8000000000000p+0;
constexpr double WORTH_IT = 0x1.3333333333333p+0;
constexpr int PROPOSED = 0;
constexpr int PASSED = 1;
constexpr int ACCEPTED = 2;
constexpr int ROWS = 3;
constexpr int N_COUNTS = 4;

// raytpnn.engine.moves.random_walk
constexpr double WALK_ACCEPTANCE = 0x1.3333333333333p-2;

// raytpnn.engine.moves.refit_factor
constexpr double WALK_SHARE = 0x1.0000000000000p-1;
constexpr double LOCATION_WIDTH = 0x1.0000000000000p-2;
constexpr double FACTOR_ACCEPTANCE = 0x1.6666666666666p-2;
constexpr int NOW = 0;
constexpr int NEXT = 1;
constexpr int LOCATION = 0;
constexpr int SCALE = 1;
constexpr int LOG_SCALE = 2;
constexpr int DOT = 3;
constexpr int NORM = 4;

// raytpnn.engine.sweeps.prior_draw
constexpr int MOST_DRAWS = 64;

// raytpnn.engine.sweeps.swap
constexpr int FOR_SWAP = 255;
constexpr int NEITHER = 0;
constexpr int HOT = 1;
constexpr int COLD = 2;

// raytpnn.numerics.philox
constexpr unsigned int MULTIPLIER_0 = 0xd2511f53u;
constexpr unsigned int MULTIPLIER_1 = 0xcd9e8d57u;
constexpr unsigned int WEYL_0 = 0x9e3779b9u;
constexpr unsigned int WEYL_1 = 0xbb67ae85u;
constexpr int ROUNDS = 10;

// raytpnn.numerics.constants
constexpr double LOG2_E = 0x1.71547652b82fep+0;
constexpr double LN2_HIGH = 0x1.62e42fee00000p-1;
constexpr double LN2_LOW = 0x1.a39ef35793c76p-33;
constexpr double ROUND_TO_INT = 0x1.8000000000000p+52;
constexpr double EXP_MIN = -0x1.6200000000000p+9;
constexpr double EXP_MAX = 0x1.6280000000000p+9;
constexpr long long SQRT_HALF_BITS = 0x3fe6a09e667f3bcdll;
constexpr double SQRT_TWO = 0x1.6a09e667f3bcdp+0;
constexpr double LN2 = 0x1.62e42fefa39efp-1;
constexpr double HALF_LOG_2_PI = 0x1.d67f1c864beb4p-1;
}  // namespace raytpnn

#define EXP_COEFFICIENTS \
    0x1.fffffffffe062p-2, \
    0x1.5555555554f96p-3, \
    0x1.55555565c7e0ep-5, \
    0x1.111111170bc08p-7, \
    0x1.6c166bde96885p-10, \
    0x1.a019c36bc053cp-13, \
    0x1.a136bf03ec612p-16, \
    0x1.72ad458027fbcp-19
#define ARTANH_COEFFICIENTS \
    0x1.8618618618618p-5, \
    0x1.af286bca1af28p-5, \
    0x1.e1e1e1e1e1e1ep-5, \
    0x1.1111111111111p-4, \
    0x1.3b13b13b13b14p-4, \
    0x1.745d1745d1746p-4, \
    0x1.c71c71c71c71cp-4, \
    0x1.2492492492492p-3, \
    0x1.999999999999ap-3, \
    0x1.5555555555555p-2
#define STIRLING_COEFFICIENTS \
    -0x1.f6ab0d9993c7dp-10, \
    0x1.b951e2b18ff23p-11, \
    -0x1.3813813813814p-11, \
    0x1.a01a01a01a01ap-11, \
    -0x1.6c16c16c16c17p-9, \
    0x1.5555555555555p-4
#define PPND_CENTRE_NUMERATOR \
    0x1.39a296f7d925ep+11, \
    0x1.052d26b2e45e4p+15, \
    0x1.06c1c55b78f20p+16, \
    0x1.66c3e869b752ap+15, \
    0x1.ad1d8cd4ee71dp+13, \
    0x1.ece5d2213c0ccp+10, \
    0x1.0a4888b1a436ep+7, \
    0x1.b18d91e9eef75p+1
#define PPND_CENTRE_DENOMINATOR \
    0x1.46a7eca984b69p+12, \
    0x1.c0e457cb1ae76p+14, \
    0x1.3317caa64f4bep+15, \
    0x1.4b772d5d65266p+14, \
    0x1.512322e75c89fp+12, \
    0x1.5797efdc8b3f7p+9, \
    0x1.5281b386e1ab5p+5, \
    0x1.0000000000000p+0
#define PPND_MIDDLE_NUMERATOR \
    0x1.9615ac0b7ace9p-11, \
    0x1.744eb6c45ec67p-6, \
    0x1.ef2abb9b85c37p-3, \
    0x1.453cc085375b2p+0, \
    0x1.d2ecb1a3d02c4p+1, \
    0x1.713f71462256ap+2, \
    0x1.2857748cab19bp+2, \
    0x1.6c665fde9526ap+0
#define PPND_MIDDLE_DENOMINATOR \
    0x1.20d3f686439e4p-30, \
    0x1.1f18cbfdf2728p-11, \
    0x1.f207a7eab17bfp-7, \
    0x1.2f5123394f040p-3, \
    0x1.61292f23385c9p-1, \
    0x1.ad278e6526633p+0, \
    0x1.06cefbb46a449p+1, \
    0x1.0000000000000p+0
#define PPND_TAIL_NUMERATOR \
    0x1.afb74d693bf93p-23, \
    0x1.c6ec6cc59e02ap-16, \
    0x1.45c1908425345p-10, \
    0x1.b2b41193b4ee7p-6, \
    0x1.2fad9315255cfp-2, \
    0x1.c8ea6461fa445p+0, \
    0x1.5daea6e875003p+2, \
    0x1.aa1b1c13ee526p+2
#define PPND_TAIL_DENOMINATOR \
    0x1.269bff1f8c190p-49, \
    0x1.31446f740b9e0p-23, \
    0x1.35c2c496374bfp-16, \
    0x1.9c8bc979dc5d7p-11, \
    0x1.e76f93215462ap-7, \
    0x1.186eb183443fbp-3, \
    0x1.331d34fc7d77fp-1, \
    0x1.0000000000000p+0
