// A GPU that is played, below a torch that was built for CUDA 13: preloaded, it takes the place of CUDA's runtime,
// of what torch uses of cuBLAS and of the driver's library.
//
// Memory is the host's and runs out where the environment says. Copies between host and device copy, and the host
// waits for those of memory that isn't pinned; ``played_waits`` says how often it waited for a device. Kernels do
// nothing, so that results are zeros, but they take their time on a clock of the device, in the order in which they
// were launched and while the host goes on. What is missing here answers "success" (see stubs in conftest.py).
//
//   PLAYED_GPUS       number of devices; default 1
//   PLAYED_GPU_GB     memory of each, in units of 10**9 bytes; default 8
//   PLAYED_GPU_NOTES  file to which each process writes that it touched a device, and whether it had done so
//                     before it was forked
#include <driver_types.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

#include "played.h"

#define API extern "C" __attribute__((visibility("default")))

double played_now_s() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

namespace {

enum Status { SUCCESS = 0, OUT_OF_MEMORY = 2, INITIALIZATION = 3, NO_SUCH_DEVICE = 101, NOT_READY = 600 };

constexpr int MOST = 16;
constexpr double KERNEL_S = 4e-6, CALL_S = 2e-6, COPY_BYTES_S = 12e9, MEMORY_BYTES_S = 1e12;
constexpr double FP32_S = 40e12, TF32_S = 200e12, HALF_S = 400e12;  // operations a second

struct Event { double at_s; };
struct Graph { double length_s; };
struct Block { size_t bytes; int device; };

std::recursive_mutex lock;
std::map<char *, Block> blocks;
std::map<char *, size_t> pinned;  // host memory that the device may read while the host goes on
long waits;  // how often the host waited for a device
size_t used[MOST];
double free_s[MOST];  // when a device is done with all it was given
double captured_s;
const void *capturing;
bool tf32;
pid_t first_to_touch;
thread_local int device;
thread_local Status last;

double setting(const char *name, double otherwise) {
    const char *value = getenv(name);
    return value ? atof(value) : otherwise;
}

int devices() { return (int)setting("PLAYED_GPUS", 1); }

size_t memory() {
    static const size_t bytes = (size_t)(setting("PLAYED_GPU_GB", 8) * 1e9);
    return bytes;
}

void note(const char *text) {
    if (const char *path = getenv("PLAYED_GPU_NOTES")) {
        FILE *file = fopen(path, "a");
        fprintf(file, "%d %s\n", getpid(), text);
        fclose(file);
    }
}

// As the driver does it: once touched, a device is of no use to a forked process.
Status touch() {
    if (!first_to_touch) {
        first_to_touch = getpid();
        note("touched");
    }
    if (first_to_touch == getpid())
        return SUCCESS;
    note("forked after touching");
    return last = INITIALIZATION;
}

void wait_until(double at_s) {
    double left_s = at_s - played_now_s();
    if (left_s <= 0)
        return;
    timespec time = {(time_t)left_s, (long)((left_s - (double)(time_t)left_s) * 1e9)};
    nanosleep(&time, nullptr);
}

thread_local uint32_t in_call;  // number of the call of CUDA that a profiler is told of; 0 outside of one

// Such a call, from here to the end of its scope. Those within it are its own affair.
class Call {
    bool outer = !in_call, of_driver;
    uint32_t name;
    double begin_s = played_now_s();

  public:
    explicit Call(uint32_t name, bool of_driver = false) : of_driver(of_driver), name(name) {
        if (outer)
            in_call = played_call();
    }
    ~Call() {
        if (outer) {
            played_return(in_call, of_driver, name, begin_s, played_now_s());
            in_call = 0;
        }
    }
};

// The host's call returns when a device is there, whether or not it has been by then.
int synchronise(double at_s, uint32_t name) {
    Call call(name);
    waits++;
    wait_until(at_s);
    return SUCCESS;
}

void work(double seconds, Work what);

int kernel() {
    Call call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    Status status = touch();
    work(KERNEL_S, {KERNEL, "played_kernel", 0});
    return status;
}

bool on_device(const void *pointer) {
    std::lock_guard<std::recursive_mutex> held(lock);
    auto after = blocks.upper_bound((char *)pointer);
    if (after == blocks.begin())
        return false;
    auto [begin, block] = *--after;
    return (char *)pointer < begin + block.bytes;
}

bool is_pinned(const void *pointer) {
    std::lock_guard<std::recursive_mutex> held(lock);
    auto after = pinned.upper_bound((char *)pointer);
    if (after == pinned.begin())
        return false;
    auto [begin, bytes] = *--after;
    return (char *)pointer < begin + bytes;
}

int copy(void *to, const void *from, size_t bytes) {
    Call call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
    if (on_device(to) && on_device(from)) {
        work(2 * (double)bytes / MEMORY_BYTES_S, {COPY_WITHIN, "", bytes});
        return SUCCESS;
    }
    memmove(to, from, bytes);
    work((double)bytes / COPY_BYTES_S + CALL_S, {on_device(to) ? COPY_IN : COPY_OUT, "", bytes});
    bool waits = !is_pinned(to) && !is_pinned(from);
    return waits ? synchronise(free_s[device], CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020) : SUCCESS;
}

int product(double rows, double columns, double inner, double batch, int type) {
    Call call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    bool single = type == 0;  // CUDA_R_32F; the others that occur have 16 bits
    double seconds = 2 * rows * columns * inner * batch / (single ? (tf32 ? TF32_S : FP32_S) : HALF_S) + CALL_S;
    work(seconds, {KERNEL, "played_gemm", 0});
    return SUCCESS;
}

void work(double seconds, Work what) {
    std::lock_guard<std::recursive_mutex> held(lock);
    if (capturing) {
        captured_s += seconds;
        return;
    }
    double begin_s = free_s[device] > played_now_s() ? free_s[device] : played_now_s();
    free_s[device] = begin_s + seconds;
    if (seconds > 0)
        played_work(in_call, device, what, begin_s, free_s[device]);
}

}  // namespace

// Devices

API int cudaGetDeviceCount(int *count) {
    *count = devices();
    return touch();
}

API int cudaGetDevice(int *index) {
    *index = device;
    return SUCCESS;
}

API int cudaSetDevice(int index) {
    if (Status status = touch())
        return status;
    if (index >= devices())
        return last = NO_SUCH_DEVICE;
    device = index;
    return SUCCESS;
}

API int cudaGetDeviceProperties(cudaDeviceProp *properties, int index) {
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "Played GPU %c", 'A' + index);
    properties->uuid.bytes[15] = (char)index;
    properties->totalGlobalMem = memory();
    properties->major = 8;
    properties->multiProcessorCount = 108;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
    properties->maxThreadsDim[2] = 64;
    properties->maxGridSize[0] = 2147483647;
    properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
    properties->sharedMemPerBlock = 49152;
    properties->sharedMemPerBlockOptin = 166912;
    properties->sharedMemPerMultiprocessor = 167936;
    properties->l2CacheSize = 40 << 20;
    properties->memoryBusWidth = 5120;
    return SUCCESS;
}

API int cudaDeviceGetAttribute(int *value, int attribute, int) {
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 49152; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxRegistersPerBlock: case cudaDevAttrMaxRegistersPerMultiprocessor: *value = 65536; break;
    case cudaDevAttrClockRate: *value = 1410000; break;
    case cudaDevAttrMemoryClockRate: *value = 1593000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 5120; break;
    case cudaDevAttrMultiProcessorCount: *value = 108; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 8; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 167936; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 166912; break;
    default: *value = 1;
    }
    return SUCCESS;
}

API int cudaDriverGetVersion(int *version) { *version = 13000; return SUCCESS; }
API int cudaRuntimeGetVersion(int *version) { *version = 13000; return SUCCESS; }
API int cudaDeviceCanAccessPeer(int *can, int, int) { *can = 0; return SUCCESS; }

API int cudaDeviceGetPCIBusId(char *id, int room, int index) {
    snprintf(id, (size_t)room, "0000:00:%02x.0", index);
    return SUCCESS;
}

API int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned, unsigned long long, int *found) {
    *function = dlsym(RTLD_DEFAULT, name);
    if (found)
        *found = *function ? 0 : 1;
    return *function ? SUCCESS : 500;
}

API int cudaGetLastError() {
    Status status = last;
    last = SUCCESS;
    return status;
}

API int cudaPeekAtLastError() { return last; }
API const char *cudaGetErrorName(int) { return "cudaError"; }

API const char *cudaGetErrorString(int status) {
    switch (status) {
    case OUT_OF_MEMORY: return "out of memory";
    case INITIALIZATION: return "initialization error";
    case NO_SUCH_DEVICE: return "invalid device ordinal";
    default: return "unknown error";
    }
}

// Memory

API int cudaMemGetInfo(size_t *left, size_t *all) {
    *left = memory() - used[device];
    *all = memory();
    return SUCCESS;
}

API int cudaMalloc(void **pointer, size_t bytes) {
    if (Status status = touch())
        return status;
    std::lock_guard<std::recursive_mutex> held(lock);
    if (used[device] + bytes > memory())
        return last = OUT_OF_MEMORY;
    *pointer = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    used[device] += bytes;
    blocks[(char *)*pointer] = {bytes, device};
    return SUCCESS;
}

API int cudaFree(void *pointer) {
    std::lock_guard<std::recursive_mutex> held(lock);
    auto found = blocks.find((char *)pointer);
    if (found == blocks.end())
        return SUCCESS;
    munmap(pointer, found->second.bytes);
    used[found->second.device] -= found->second.bytes;
    blocks.erase(found);
    return SUCCESS;
}

API int cudaHostAlloc(void **pointer, size_t bytes, unsigned) {
    std::lock_guard<std::recursive_mutex> held(lock);
    *pointer = malloc(bytes);
    pinned[(char *)*pointer] = bytes;
    return SUCCESS;
}

API int cudaFreeHost(void *pointer) {
    std::lock_guard<std::recursive_mutex> held(lock);
    pinned.erase((char *)pointer);
    free(pointer);
    return SUCCESS;
}

API int cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer) {
    memset(attributes, 0, sizeof *attributes);
    if (on_device(pointer)) {
        attributes->type = cudaMemoryTypeDevice;
        attributes->device = device;
        attributes->devicePointer = (void *)pointer;
    } else if (is_pinned(pointer)) {
        attributes->type = cudaMemoryTypeHost;
        attributes->devicePointer = attributes->hostPointer = (void *)pointer;
    }
    return SUCCESS;
}

API int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int, void *) { return copy(to, from, bytes); }
API int cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t bytes, void *) { return copy(to, from, bytes); }

API int cudaMemcpy(void *to, const void *from, size_t bytes, int) {
    Call call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020);
    copy(to, from, bytes);
    return synchronise(free_s[device], CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020);
}

API int cudaMemsetAsync(void *pointer, int value, size_t bytes, void *) {
    Call call(CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020);
    memset(pointer, value, bytes);
    work((double)bytes / MEMORY_BYTES_S, {SET, "", bytes});
    return SUCCESS;
}

API int cudaMemset(void *pointer, int value, size_t bytes) { return cudaMemsetAsync(pointer, value, bytes, nullptr); }

// Kernels

API int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *) { return kernel(); }
API int __cudaLaunchKernel(void *, dim3, dim3, void **, size_t, void *) { return kernel(); }
API int cudaLaunchKernelExC(const void *, const void *, void **) { return kernel(); }
API int cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t, void *) { return kernel(); }
API int __cudaGetKernel(void **found, const void *function) { *found = (void *)function; return SUCCESS; }
API void **__cudaRegisterFatBinary(void *) { static void *binary[1]; return binary; }

static thread_local struct { dim3 grid, block; size_t shared; void *stream; } pushed;

API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
    pushed = {grid, block, shared, stream};
    return SUCCESS;
}

API int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void **stream) {
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    *stream = pushed.stream;
    return SUCCESS;
}

API int cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *) {
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->binaryVersion = attributes->ptxVersion = 80;
    attributes->maxDynamicSharedSizeBytes = 49152;
    return SUCCESS;
}

API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int, size_t) { *blocks = 2; return SUCCESS; }
API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *, int, size_t, unsigned) {
    *blocks = 2;
    return SUCCESS;
}

// Streams, all of which a device works off in one order, and events

static int new_stream(void **stream) {
    static char streams[64];
    static std::atomic<unsigned> made;
    *stream = &streams[++made % sizeof streams];
    return SUCCESS;
}

API int cudaStreamCreate(void **stream) { return new_stream(stream); }
API int cudaStreamCreateWithFlags(void **stream, unsigned) { return new_stream(stream); }
API int cudaStreamCreateWithPriority(void **stream, unsigned, int) { return new_stream(stream); }
API int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { *least = 0; *greatest = -5; return SUCCESS; }
API int cudaStreamGetPriority(void *, int *priority) { *priority = 0; return SUCCESS; }
API int cudaStreamQuery(void *) { return played_now_s() >= free_s[device] ? SUCCESS : NOT_READY; }

API int cudaStreamSynchronize(void *) {
    return synchronise(free_s[device], CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020);
}

API int cudaDeviceSynchronize() {
    return synchronise(free_s[device], CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020);
}

API long played_waits() { return waits; }
API int cudaEventCreateWithFlags(void **event, unsigned) { *event = new Event{0}; return touch(); }
API int cudaEventCreate(void **event) { return cudaEventCreateWithFlags(event, 0); }
API int cudaEventDestroy(void *event) { delete (Event *)event; return SUCCESS; }

API int cudaEventRecord(void *event, void *) {
    work(0, {KERNEL, "", 0});
    ((Event *)event)->at_s = free_s[device];
    return SUCCESS;
}

API int cudaEventRecordWithFlags(void *event, void *stream, unsigned) { return cudaEventRecord(event, stream); }
API int cudaEventQuery(void *event) { return played_now_s() >= ((Event *)event)->at_s ? SUCCESS : NOT_READY; }

API int cudaEventSynchronize(void *event) {
    return synchronise(((Event *)event)->at_s, CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020);
}

API int cudaEventElapsedTime(float *milliseconds, void *begin, void *end) {
    *milliseconds = (float)((((Event *)end)->at_s - ((Event *)begin)->at_s) * 1e3);
    return SUCCESS;
}

// Graphs: what was captured takes its time again at each launch

API int cudaStreamBeginCapture(void *stream, int) {
    capturing = stream;
    captured_s = 0;
    return SUCCESS;
}

API int cudaStreamEndCapture(void *, void **graph) {
    capturing = nullptr;
    *graph = new Graph{captured_s};
    return SUCCESS;
}

API int cudaStreamIsCapturing(void *stream, int *status) {
    *status = capturing && stream == capturing;
    return SUCCESS;
}

API int cudaStreamGetCaptureInfo(
    void *stream, int *status, unsigned long long *id, void **graph, const void **nodes, const void **edges, size_t *count
) {
    static char under_way;
    *status = capturing && stream == capturing;
    if (id)
        *id = 1;
    if (graph)
        *graph = &under_way;
    if (nodes)
        *nodes = nullptr;
    if (edges)
        *edges = nullptr;
    if (count)
        *count = 0;
    return SUCCESS;
}

API int cudaGraphGetNodes(void *, void **, size_t *count) { *count = 1; return SUCCESS; }

API int cudaGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
    *executable = new Graph(*(Graph *)graph);
    return SUCCESS;
}

API int cudaGraphLaunch(void *executable, void *) {
    Call call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000);
    work(((Graph *)executable)->length_s, {KERNEL, "played_graph", 0});
    return SUCCESS;
}

// cuBLAS

API int cublasCreate_v2(void **handle) { *handle = malloc(64); return touch() ? 1 : SUCCESS; }
API int cublasSetMathMode(void *, int mode) { tf32 = mode == 3; return SUCCESS; }  // CUBLAS_TF32_TENSOR_OP_MATH
API int cublasGetMathMode(void *, int *mode) { *mode = tf32 ? 3 : 0; return SUCCESS; }
API int cublasGetPointerMode_v2(void *, int *mode) { *mode = 0; return SUCCESS; }
API int cublasSgemm_v2(void *, int, int, int m, int n, int k, ...) { return product(m, n, k, 1, 0); }

API int cublasGemmEx(void *, int, int, int m, int n, int k, const void *, const void *, int type, ...) {
    return product(m, n, k, 1, type);
}

API int cublasSgemmStridedBatched(
    void *, int, int, int m, int n, int k, const void *, const void *, int, long long, const void *, int, long long,
    const void *, void *, int, long long, int batch
) {
    return product(m, n, k, batch, 0);
}

API int cublasGemmStridedBatchedEx(
    void *, int, int, int m, int n, int k, const void *, const void *, int type, int, long long, const void *, int, int,
    long long, const void *, void *, int, int, long long, int batch, ...
) {
    return product(m, n, k, batch, type);
}

struct Layout { int type, batch; double rows, columns; };

API int cublasLtMatrixLayoutCreate(Layout **layout, int type, unsigned long long rows, unsigned long long columns, long long) {
    *layout = new Layout{type, 1, (double)rows, (double)columns};
    return SUCCESS;
}

API int cublasLtMatrixLayoutSetAttribute(Layout *layout, int attribute, const void *value, size_t) {
    if (attribute == 5)  // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
        layout->batch = *(const int *)value;
    return SUCCESS;
}

API int cublasLtMatrixLayoutDestroy(Layout *layout) { delete layout; return SUCCESS; }
API int cublasLtMatmulDescCreate(void **descriptor, int, int) { *descriptor = malloc(256); return SUCCESS; }
API int cublasLtMatmulDescDestroy(void *descriptor) { free(descriptor); return SUCCESS; }
API int cublasLtMatmulPreferenceCreate(void **preference) { *preference = malloc(256); return SUCCESS; }
API int cublasLtMatmulPreferenceDestroy(void *preference) { free(preference); return SUCCESS; }
API size_t cublasLtGetVersion() { return 130000; }

API int cublasLtMatmulAlgoGetHeuristic(
    void *, void *, void *, void *, void *, void *, void *, int, void *results, int *count
) {
    memset(results, 0, 96);  // one cublasLtMatmulHeuristicResult_t, with success as its state
    *count = 1;
    return SUCCESS;
}

API int cublasLtMatmul(
    void *, void *, const void *, const void *, Layout *left, const void *, Layout *, const void *, const void *, Layout *,
    void *, Layout *result, ...
) {
    double inner = left->rows * left->columns / result->rows;
    return product(result->rows, result->columns, inner, left->batch, left->type);
}

// The driver, which Triton's kernels are launched by

static char context;

API int cuInit(unsigned) { return SUCCESS; }
API int cuDriverGetVersion(int *version) { return cudaDriverGetVersion(version); }
API int cuDeviceGetCount(int *count) { *count = devices(); return SUCCESS; }
API int cuDeviceGet(int *found, int index) { *found = index; return SUCCESS; }
API int cuDeviceGetAttribute(int *value, int attribute, int index) { return cudaDeviceGetAttribute(value, attribute, index); }
API int cuDevicePrimaryCtxGetState(int, unsigned *, int *active) { *active = 1; return SUCCESS; }
API int cuDevicePrimaryCtxRetain(void **found, int) { *found = &context; return SUCCESS; }
API int cuCtxGetCurrent(void **found) { *found = &context; return SUCCESS; }
API int cuCtxGetLimit(size_t *value, int) { *value = 1024; return SUCCESS; }
API int cuGetErrorString(int, const char **text) { *text = "an error of the played driver"; return SUCCESS; }
API int cuModuleLoadData(void **module, const void *) { *module = &context; return SUCCESS; }
API int cuModuleGetFunction(void **function, void *, const char *) { *function = &context; return SUCCESS; }
API int cuOccupancyMaxActiveClusters(int *count, void *, void *) { *count = 1; return SUCCESS; }

API int cuLaunchKernel(...) {
    Call call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, true);
    return kernel();
}

API int cuLaunchKernelEx(...) {
    Call call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, true);
    return kernel();
}

API int cuFuncGetAttribute(int *value, int attribute, void *) {
    *value = attribute == 0 ? 1024 : attribute == 3 ? 0 : 32;  // threads per block, spilled bytes, registers
    return SUCCESS;
}

API int cuPointerGetAttribute(void *value, int, unsigned long long pointer) {
    *(unsigned long long *)value = pointer;
    return SUCCESS;
}

API int cuPointerGetAttributes(unsigned count, int *attributes, void **values, unsigned long long pointer) {
    for (unsigned each = 0; each < count; each++)
        *(unsigned long long *)values[each] = attributes[each] == 2 ? 2 : pointer;  // CU_MEMORYTYPE_DEVICE
    return SUCCESS;
}
