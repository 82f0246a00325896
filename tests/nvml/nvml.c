/* A stand-in for libnvidia-ml.so.1: GPUs to be read where there are none.
 *
 * Readings depend on nothing but the GPU and how often the same function was called for it, so that a test can
 * say what it expects; the energy counter alone grows with time. The environment says what the machine is like; lists are separated by commas:
 *
 *   FAKE_NVML_GPUS       number of GPUs, at most 16; default 2
 *   FAKE_NVML_INIT       error code of nvmlInit; default 0, success
 *   FAKE_NVML_FAIL       GPU:FUNCTION:CODE[:FIRST[-LAST]], FUNCTION without "nvmlDevice". The calls from FIRST to LAST
 *                        of this function on this GPU answer CODE; default all. GPU and FUNCTION may be *; with
 *                        FUNCTION * all calls on the GPU are counted together.
 *                        "1:GetPowerUsage:3" not supported, "0:*:15:40" lost at the 40th call.
 *   FAKE_NVML_THROTTLE   GPU:BITS/BITS/...  the answers of the first, second, ... call; the last one stays
 *   FAKE_NVML_CAPABILITY compute capability of all GPUs; default 9.0
 *   FAKE_NVML_DEFAULT_CLOCK  anything: the driver knows a default clock of applications, 500 MHz below the highest
 *   FAKE_NVML_PSTATE     performance state of all GPUs; default 0, 32 is unknown
 *   FAKE_NVML_MIG        GPU that is partitioned into instances
 *   FAKE_NVML_NO_METRIC  numbers of the GPM metrics that are refused
 *   FAKE_NVML_PROCESSES  GPU:PID:BYTES
 *
 * unsigned fake_nvml_calls(unsigned gpu, const char *function) counts the calls so far.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GPUS 16
#define FUNCTIONS 64

/* The layouts of nvml.h, as far as they are played. */
struct memory {
    unsigned long long total, free, used;
};
struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct field_value {
    unsigned field, scope;
    long long timestamp, latency;
    unsigned type, result;
    union {
        double number;
        unsigned milliwatts;
    } value;
};
struct utilization {
    unsigned gpu, memory;
};
struct pci {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};
struct temperature {
    unsigned version, sensor;
    int celsius;
};
struct gpm_sample {
    unsigned gpu, call;
};
struct gpm_metric {
    unsigned number, result;
    double value;
    const char *names[3];
};
struct gpm_query {
    unsigned version, count;
    struct gpm_sample *first, *second;
    struct gpm_metric metrics[];
};
struct gpm_support {
    unsigned version, supported;
};
struct process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    INSUFFICIENT_SIZE = 7,
    FUNCTION_NOT_FOUND = 13
};

static int open_count;
static struct timespec opened;
static char devices[GPUS];
static unsigned reads[GPUS];
static struct {
    const char *function;
    unsigned calls[GPUS];
} counters[FUNCTIONS];

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static unsigned gpu_count(void) {
    const char *count = setting("FAKE_NVML_GPUS");
    return *count ? (unsigned)atoi(count) : 2;
}

static const char *next_entry(const char *entry) {
    const char *comma = strchr(entry, ',');
    return comma ? comma + 1 : "";
}

static unsigned *counter(unsigned gpu, const char *function) {
    int i = 0;
    while (i < FUNCTIONS - 1 && counters[i].function && strcmp(counters[i].function, function))
        i++;
    if (!counters[i].function)
        counters[i].function = strdup(function);
    return &counters[i].calls[gpu];
}

unsigned fake_nvml_calls(unsigned gpu, const char *function) { return *counter(gpu, function); }

/* The code this call answers, and its number in *call, from 1. */
static int answer(void *device, const char *function, unsigned *call) {
    if (open_count == 0)
        return UNINITIALIZED;
    unsigned gpu = (unsigned)((char *)device - devices);
    *call = ++*counter(gpu, function);
    unsigned total = ++reads[gpu];
    for (const char *entry = setting("FAKE_NVML_FAIL"); *entry; entry = next_entry(entry)) {
        char which[8], name[64];
        int code;
        unsigned first = 1, last = UINT_MAX;
        if (sscanf(entry, "%7[^:]:%63[^:]:%d:%u-%u", which, name, &code, &first, &last) < 3)
            abort();
        int any = !strcmp(name, "*");
        unsigned number = any ? total : *call;
        if ((!strcmp(which, "*") || (unsigned)atoi(which) == gpu) && (any || !strcmp(name, function)) &&
            number >= first && number <= last)
            return code;
    }
    return SUCCESS;
}

#define ANSWER(device, function)                                                                                       \
    unsigned gpu = (unsigned)((char *)(device) - devices);                                                             \
    unsigned call = 0;                                                                                                 \
    int code = answer(device, function, &call);                                                                        \
    (void)gpu;                                                                                                         \
    if (code != SUCCESS)                                                                                               \
        return code;

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    int code = atoi(setting("FAKE_NVML_INIT"));
    if (code == SUCCESS && opened.tv_sec == 0)
        clock_gettime(CLOCK_MONOTONIC, &opened);
    if (code == SUCCESS)
        open_count++;
    return code;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void) {
    if (open_count == 0)
        return UNINITIALIZED;
    open_count--;
    return SUCCESS;
}

const char *nvmlErrorString(int code) {
    static char text[32];
    snprintf(text, sizeof text, "fake error %d", code);
    return text;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
    snprintf(version, length, "570.1.fake");
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = gpu_count();
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    if (index >= gpu_count() || index >= GPUS)
        return INVALID_ARGUMENT;
    ANSWER(devices + index, "GetHandleByIndex")
    *device = devices + index;
    return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *name, unsigned length) {
    ANSWER(device, "GetName")
    snprintf(name, length, "Fake GPU %c", 'A' + (char)gpu);
    return SUCCESS;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length) {
    ANSWER(device, "GetUUID")
    snprintf(uuid, length, "GPU-00000000-0000-0000-0000-%012u", gpu);
    return SUCCESS;
}

/* 80 GB; used: 1 GB and a megabyte more with each call, without the half that the driver keeps for itself. */
int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *memory) {
    ANSWER(device, "GetMemoryInfo_v2")
    memory->total = 80000000000ULL;
    memory->reserved = 500000000ULL;
    memory->used = 1000000000ULL + 1000000ULL * call;
    memory->free = memory->total - memory->reserved - memory->used;
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory) {
    ANSWER(device, "GetMemoryInfo")
    memory->total = 80000000000ULL;
    memory->used = 1500000000ULL + 1000000ULL * call;
    memory->free = memory->total - memory->used;
    return SUCCESS;
}

/* 100 W, 50 W more for each GPU before this one, and a saw tooth of 10, 20, 30, 40, 0 W on top. */
static unsigned power_mw(unsigned gpu, unsigned call) { return 100000 + 50000 * gpu + 10000 * (call % 5); }

/* On with FAKE_NVML_MIG, a GPU; off after the next reset. */
int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
    ANSWER(device, "GetMigMode")
    const char *mig = setting("FAKE_NVML_MIG");
    *current = *mig && (unsigned)atoi(mig) == gpu;
    *pending = 0;
    return SUCCESS;
}

int nvmlDeviceGetPersistenceMode(void *device, unsigned *mode) {
    ANSWER(device, "GetPersistenceMode")
    *mode = 1;
    return SUCCESS;
}

int nvmlDeviceGetEccMode(void *device, unsigned *current, unsigned *pending) {
    ANSWER(device, "GetEccMode")
    *current = 1, *pending = 0;
    return SUCCESS;
}

int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *generation) {
    ANSWER(device, "GetMaxPcieLinkGeneration")
    *generation = 5;
    return SUCCESS;
}

int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *width) {
    ANSWER(device, "GetCurrPcieLinkWidth")
    *width = 16;
    return SUCCESS;
}

/* 0012:a1:00.0, 0012:a2:00.0, ... */
int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci) {
    ANSWER(device, "GetPciInfo_v3")
    memset(pci, 0, sizeof *pci);
    pci->domain = 0x12, pci->bus = 0xa1 + gpu;
    return SUCCESS;
}

/* Major and minor number of FAKE_NVML_CAPABILITY. */
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    ANSWER(device, "GetCudaComputeCapability")
    *major = 9, *minor = 0;
    sscanf(setting("FAKE_NVML_CAPABILITY"), "%d.%d", major, minor);
    return SUCCESS;
}

/* The average is told from the power of the moment by 1 W. */
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
    ANSWER(device, "GetPowerUsage")
    *milliwatts = power_mw(gpu, call) + 1000;
    return SUCCESS;
}

/* NVML_FI_DEV_POWER_INSTANT alone; as with the real library a refusal stands in the value, not in the answer. */
int nvmlDeviceGetFieldValues(void *device, int count, struct field_value *values) {
    unsigned call = 0;
    int code = answer(device, "GetFieldValues", &call);
    for (int i = 0; i < count; i++) {
        values[i].result = code == SUCCESS && values[i].field != 186 ? NOT_SUPPORTED : (unsigned)code;
        values[i].value.milliwatts = power_mw((unsigned)((char *)device - devices), call);
    }
    return SUCCESS;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts) {
    ANSWER(device, "GetEnforcedPowerLimit")
    *milliwatts = 700000;
    return SUCCESS;
}

/* Mean power since the library was opened; 1 kJ more for each GPU before this one. */
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
    ANSWER(device, "GetTotalEnergyConsumption")
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - opened.tv_sec) + (double)(now.tv_nsec - opened.tv_nsec) / 1e9;
    *millijoules = 1000000ULL * gpu + (unsigned long long)(seconds * (120000 + 50000 * gpu));
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates) {
    ANSWER(device, "GetUtilizationRates")
    rates->gpu = (90 + call) % 101;
    rates->memory = 40;
    return SUCCESS;
}

int nvmlDeviceGetTemperatureV(void *device, struct temperature *temperature) {
    ANSWER(device, "GetTemperatureV")
    temperature->celsius = 40 + 10 * (int)gpu + (int)call;
    return SUCCESS;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) {
    (void)sensor;
    ANSWER(device, "GetTemperature")
    *celsius = 40 + 10 * gpu + call;
    return SUCCESS;
}

/* P0, or FAKE_NVML_PSTATE. */
int nvmlDeviceGetPerformanceState(void *device, int *state) {
    ANSWER(device, "GetPerformanceState")
    *state = atoi(setting("FAKE_NVML_PSTATE"));
    return SUCCESS;
}

/* Graphics 1980 MHz, SM 1981 MHz, memory 1982 MHz. */
int nvmlDeviceGetApplicationsClock(void *device, int type, unsigned *mhz) {
    ANSWER(device, "GetApplicationsClock")
    *mhz = 1980 + (unsigned)type;
    return SUCCESS;
}

/* Graphics 1000 MHz, SM 1001 MHz, memory 1002 MHz, and 10 MHz less with each call. */
int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz) {
    ANSWER(device, "GetClockInfo")
    *mhz = 1000 + (unsigned)type - 10 * (call % 10);
    return SUCCESS;
}

/* 500 MHz below the highest, if FAKE_NVML_DEFAULT_CLOCK is set. */
int nvmlDeviceGetDefaultApplicationsClock(void *device, int type, unsigned *mhz) {
    ANSWER(device, "GetDefaultApplicationsClock")
    *mhz = 1480 + (unsigned)type;
    return *setting("FAKE_NVML_DEFAULT_CLOCK") ? SUCCESS : FUNCTION_NOT_FOUND;
}

int nvmlDeviceGetTemperatureThreshold(void *device, int type, unsigned *celsius) {
    ANSWER(device, "GetTemperatureThreshold")
    *celsius = (type == 1 ? 90 : 0) + gpu; /* 1: slowdown */
    return SUCCESS;
}

/* Graphics 1980 MHz, SM 1981 MHz, memory 1982 MHz. */
int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz) {
    ANSWER(device, "GetMaxClockInfo")
    *mhz = 1980 + (unsigned)type;
    return SUCCESS;
}

static unsigned long long throttle_bits(unsigned gpu, unsigned call) {
    for (const char *entry = setting("FAKE_NVML_THROTTLE"); *entry; entry = next_entry(entry)) {
        char *at;
        if (strtoul(entry, &at, 10) != gpu)
            continue;
        unsigned long long bits;
        do
            bits = strtoull(at + 1, &at, 0);
        while (--call && *at == '/');
        return bits;
    }
    return 0;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *bits) {
    ANSWER(device, "GetCurrentClocksEventReasons")
    *bits = throttle_bits(gpu, call);
    return SUCCESS;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits) {
    ANSWER(device, "GetCurrentClocksThrottleReasons")
    *bits = throttle_bits(gpu, call);
    return SUCCESS;
}

static int list_processes(unsigned gpu, unsigned *count, struct process *processes) {
    unsigned room = processes ? *count : 0, found = 0;
    for (const char *entry = setting("FAKE_NVML_PROCESSES"); *entry; entry = next_entry(entry)) {
        unsigned where, pid;
        unsigned long long bytes;
        if (sscanf(entry, "%u:%u:%llu", &where, &pid, &bytes) != 3)
            abort();
        if (where != gpu)
            continue;
        if (found < room)
            processes[found] = (struct process){pid, bytes, UINT_MAX, UINT_MAX};
        found++;
    }
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *processes) {
    ANSWER(device, "GetComputeRunningProcesses_v3")
    return list_processes(gpu, count, processes);
}

int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, struct process *processes) {
    ANSWER(device, "GetComputeRunningProcesses_v2")
    return list_processes(gpu, count, processes);
}

/* What torch itself asks for when memory has run out. */
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device) {
    (void)id;
    return nvmlDeviceGetHandleByIndex_v2(0, device);
}

/* Hopper and newer. */
int nvmlGpmQueryDeviceSupport(void *device, struct gpm_support *support) {
    ANSWER(device, "GpmQueryDeviceSupport")
    int major = 9;
    sscanf(setting("FAKE_NVML_CAPABILITY"), "%d", &major);
    support->supported = major >= 9;
    return SUCCESS;
}

int nvmlGpmSampleAlloc(struct gpm_sample **sample) {
    *sample = calloc(1, sizeof **sample);
    return SUCCESS;
}

int nvmlGpmSampleFree(struct gpm_sample *sample) {
    free(sample);
    return SUCCESS;
}

int nvmlGpmSampleGet(void *device, struct gpm_sample *sample) {
    ANSWER(device, "GpmSampleGet")
    sample->gpu = gpu, sample->call = call;
    return SUCCESS;
}

/* The number of the metric, 10 more for each GPU before this one, 0.5 more for each sample since the first; -1 unless
 * the two samples follow each other. */
int nvmlGpmMetricsGet(struct gpm_query *query) {
    if (query->version != 1 || query->first->gpu != query->second->gpu)
        return INVALID_ARGUMENT;
    for (unsigned i = 0; i < query->count; i++) {
        struct gpm_metric *metric = &query->metrics[i];
        metric->result = SUCCESS;
        for (const char *entry = setting("FAKE_NVML_NO_METRIC"); *entry; entry = next_entry(entry))
            if ((unsigned)atoi(entry) == metric->number)
                metric->result = NOT_SUPPORTED;
        int follow = query->second->call == query->first->call + 1;
        metric->value = follow ? metric->number + 10.0 * query->second->gpu + 0.5 * (query->second->call - 1) : -1.0;
    }
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *processes) {
    (void)device, (void)processes;
    *count = 0;
    return SUCCESS;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    *version = 13000;
    return SUCCESS;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void) { return NOT_SUPPORTED; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void) { return NOT_SUPPORTED; }
