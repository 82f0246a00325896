// What the played GPU tells a profiler: see played_cupti.cpp.
#pragma once
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include <cstddef>
#include <cstdint>

enum Kind { KERNEL, COPY_IN, COPY_OUT, COPY_WITHIN, SET };

struct Work {
    Kind kind;
    const char *name;  // of a kernel
    size_t bytes;      // of the others
};

extern "C" double played_now_s();
// A call of CUDA begins: gives its number.
extern "C" uint32_t played_call();
// It returns; ``name`` is a number of CUPTI, of the driver's functions or of the runtime's.
extern "C" void played_return(uint32_t call, bool of_driver, uint32_t name, double begin_s, double end_s);
extern "C" void played_work(uint32_t call, int device, Work work, double begin_s, double end_s);
