// What a profiler is told of the played GPU while it looks on (CUPTI 13): the calls of CUDA, the kernels, copies and
// fills that they launched, and the numbers that the profiler gave to the operators around them.
#include <cupti.h>

#include <cstring>
#include <map>
#include <mutex>
#include <pthread.h>
#include <set>
#include <unistd.h>
#include <vector>

#include "played.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {

std::recursive_mutex lock;
std::set<CUpti_ActivityKind> wanted;
uint8_t *buffer;  // the one that is being filled
size_t room, filled;
CUpti_BuffersCallbackRequestFunc request;
CUpti_BuffersCallbackCompleteFunc complete;
CUpti_TimestampCallbackFunc ticks;
double first_s;
uint64_t first_ticks;
thread_local std::map<CUpti_ExternalCorrelationKind, std::vector<uint64_t>> operators;  // the innermost at the end

uint64_t ticks_at(double at_s) {
    double rate = (double)(ticks() - first_ticks) / (played_now_s() - first_s);
    return first_ticks + (uint64_t)((at_s - first_s) * rate);
}

void hand_over() {
    if (buffer)
        complete(nullptr, 0, buffer, room, filled);
    buffer = nullptr;
    filled = 0;
}

size_t size_of(CUpti_ActivityKind kind) {
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME: case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    default: return sizeof(CUpti_ActivityKernel10);
    }
}

// Room for a record of this kind; null if nobody wants it.
template <typename Record> Record *record(CUpti_ActivityKind kind) {
    if (!request || !ticks || !wanted.count(kind))
        return nullptr;
    if (buffer && filled + sizeof(Record) > room)
        hand_over();
    if (!buffer) {
        size_t most = 0;
        request(&buffer, &room, &most);
    }
    auto *made = (Record *)(buffer + filled);
    memset((void *)made, 0, sizeof *made);
    made->kind = kind;
    filled += sizeof *made;
    return made;
}

template <typename Record> void fill(Record *made, uint32_t call, int device, double begin_s, double end_s) {
    made->start = ticks_at(begin_s);
    made->end = ticks_at(end_s);
    made->correlationId = call;
    made->deviceId = (uint32_t)device;
    made->streamId = 7;
}

}  // namespace

extern "C" uint32_t played_call() {
    static uint32_t last;
    std::lock_guard<std::recursive_mutex> held(lock);
    last++;
    for (auto &[kind, numbers] : operators) {
        if (numbers.empty())
            continue;
        auto *made = record<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
        if (made) {
            made->externalKind = kind;
            made->externalId = numbers.back();
            made->correlationId = last;
        }
    }
    return last;
}

extern "C" void played_return(uint32_t call, bool of_driver, uint32_t name, double begin_s, double end_s) {
    std::lock_guard<std::recursive_mutex> held(lock);
    auto kind = of_driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
    if (auto *made = record<CUpti_ActivityAPI>(kind)) {
        made->cbid = name;
        made->start = ticks_at(begin_s);
        made->end = ticks_at(end_s);
        made->processId = (uint32_t)getpid();
        made->threadId = (uint32_t)pthread_self();
        made->correlationId = call;
    }
}

extern "C" void played_work(uint32_t call, int device, Work work, double begin_s, double end_s) {
    std::lock_guard<std::recursive_mutex> held(lock);
    if (work.kind == KERNEL) {
        if (auto *made = record<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) {
            fill(made, call, device, begin_s, end_s);
            made->name = work.name;
            made->gridX = made->gridY = made->gridZ = 1;
            made->blockX = made->blockY = made->blockZ = 1;
        }
    } else if (work.kind == SET) {
        if (auto *made = record<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET)) {
            fill(made, call, device, begin_s, end_s);
            made->bytes = work.bytes;
            made->memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
        }
    } else if (auto *made = record<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY)) {
        fill(made, call, device, begin_s, end_s);
        made->bytes = work.bytes;
        made->copyKind = work.kind == COPY_IN    ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                         : work.kind == COPY_OUT ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
                                                 : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
        bool in = work.kind == COPY_IN, out = work.kind == COPY_OUT;
        made->srcKind = in ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
        made->dstKind = out ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    }
}

API CUptiResult cuptiActivityRegisterCallbacks(
    CUpti_BuffersCallbackRequestFunc wanted, CUpti_BuffersCallbackCompleteFunc done
) {
    request = wanted;
    complete = done;
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
    ticks = clock;
    first_s = played_now_s();
    first_ticks = ticks();
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
    std::lock_guard<std::recursive_mutex> held(lock);
    wanted.insert(kind);
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
    std::lock_guard<std::recursive_mutex> held(lock);
    wanted.erase(kind);
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityFlushAll(uint32_t) {
    std::lock_guard<std::recursive_mutex> held(lock);
    hand_over();
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t number) {
    operators[kind].push_back(number);
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *number) {
    auto &numbers = operators[kind];
    if (numbers.empty())
        return CUPTI_ERROR_QUEUE_EMPTY;
    if (number)
        *number = numbers.back();
    numbers.pop_back();
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t filled, CUpti_Activity **record) {
    auto *next = *record ? (uint8_t *)*record + size_of((*record)->kind) : buffer;
    if (!buffer || next >= buffer + filled)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t *dropped) {
    *dropped = 0;
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t number, const char **name) {
    static const std::map<uint32_t, const char *> of_runtime = {
        {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel_v7000"},
        {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, "cudaMemcpy_v3020"},
        {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, "cudaMemcpyAsync_v3020"},
        {CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, "cudaMemsetAsync_v3020"},
        {CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, "cudaStreamSynchronize_v3020"},
        {CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, "cudaDeviceSynchronize_v3020"},
        {CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020, "cudaEventSynchronize_v3020"},
        {CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, "cudaGraphLaunch_v10000"},
    };
    static const std::map<uint32_t, const char *> of_driver = {
        {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel"},
        {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, "cuLaunchKernelEx"},
    };
    auto &names = domain == CUPTI_CB_DOMAIN_DRIVER_API ? of_driver : of_runtime;
    auto found = names.find(number);
    if (found == names.end())
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = found->second;
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiGetVersion(uint32_t *version) {
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiGetResultString(CUptiResult, const char **text) {
    *text = "an error of the played profiler";
    return CUPTI_SUCCESS;
}
