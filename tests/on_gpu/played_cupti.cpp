// What a profiler is told of the played GPU: one kernel for each piece of work while it looks on (CUPTI 13).
#include <cupti.h>

#include <cstdlib>
#include <cstring>

#define API extern "C" __attribute__((visibility("default")))

extern "C" double played_now_s();

namespace {

bool looking;
uint8_t *buffer;  // the one that is being filled
size_t room, filled;
CUpti_BuffersCallbackRequestFunc request;
CUpti_BuffersCallbackCompleteFunc complete;
CUpti_TimestampCallbackFunc ticks;
double first_s;
uint64_t first_ticks;

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

}  // namespace

extern "C" void played_work(double begin_s, double end_s) {
    static uint32_t number;
    if (!looking || !request || !ticks)
        return;
    if (buffer && filled + sizeof(CUpti_ActivityKernel10) > room)
        hand_over();
    if (!buffer) {
        size_t most = 0;
        request(&buffer, &room, &most);
    }
    auto *kernel = (CUpti_ActivityKernel10 *)(buffer + filled);
    memset(kernel, 0, sizeof *kernel);
    kernel->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel->name = "played";
    kernel->start = ticks_at(begin_s);
    kernel->end = ticks_at(end_s);
    kernel->correlationId = ++number;
    kernel->gridX = kernel->gridY = kernel->gridZ = 1;
    kernel->blockX = kernel->blockY = kernel->blockZ = 1;
    filled += sizeof *kernel;
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
    looking = looking || kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
    looking = looking && kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityFlushAll(uint32_t) {
    hand_over();
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t filled, CUpti_Activity **record) {
    auto *next = *record ? (uint8_t *)*record + sizeof(CUpti_ActivityKernel10) : buffer;
    if (!buffer || next + sizeof(CUpti_ActivityKernel10) > buffer + filled)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t *dropped) {
    *dropped = 0;
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
