// What CUDA gives nvcc, for g++: included before an unmodified .cu file it makes the file a library whose
// kernels run on the CPU, one fiber a CUDA thread. See README.md.
#pragma once

#include "fibers.h"
#include "scheduler.h"
#include "warp.h"
#include "launch.h"
#include "intrinsics.h"
