/* A libcuda.so.1 of our own: as much of the driver's interface as tells what there is. No kernel ever runs. */
#include "profile.h"

typedef int Result;
typedef int Device;

enum { INVALID_VALUE = 1, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101 };
enum { GPUS = 64 };

static int initialized, visible[GPUS], visible_count;

#define BEGIN(gpu)                                   \
    do {                                             \
        int code = fault(__func__, gpu);             \
        if (code) return code;                       \
        if (!initialized) return NOT_INITIALIZED;    \
    } while (0)

static int is_divided(int gpu) {
    unsigned long long mode = 0;
    return number(&mode, "gpu%d.mig.mode", gpu) && mode;
}

/* The prefix of the keys of a device: of a divided GPU, CUDA takes the first instance in place of the whole. */
static const char *keys_of(int gpu) {
    static __thread char keys[40];
    snprintf(keys, sizeof keys, is_divided(gpu) ? "gpu%d.mig0" : "gpu%d", gpu);
    return keys;
}

/* CUDA_VISIBLE_DEVICES, where it is numbers: the list ends at the first that is no GPU. */
static void find_visible(void) {
    unsigned long long count = 0;
    char name[256];
    const char *stated = getenv("CUDA_VISIBLE_DEVICES");
    number(&count, "count");
    visible_count = 0;
    for (int gpu = 0; !stated && gpu < (int)count; gpu++)
        if (told(name, sizeof name, "%s.name", keys_of(gpu))) visible[visible_count++] = gpu;
    for (const char *at = stated; at && *at && visible_count < GPUS;) {
        char *end;
        long gpu = strtol(at, &end, 10);
        if (end == at || gpu < 0 || gpu >= (long)count) break;
        visible[visible_count++] = (int)gpu;
        at = *end == ',' ? end + 1 : "";
    }
}

static int gpu_of(Device device) { return device >= 0 && device < visible_count ? visible[device] : -1; }

EXPORT Result cuInit(unsigned flags) {
    int code = fault(__func__, -1);
    if (code) return code;
    if (flags) return INVALID_VALUE;
    find_visible();
    if (!visible_count) return NO_DEVICE;
    initialized = 1;
    return 0;
}

EXPORT Result cuDriverGetVersion(int *out) {
    unsigned long long version = 0;
    int code = fault(__func__, -1);
    if (code) return code;
    number(&version, "cuda");
    *out = (int)version;
    return 0;
}

EXPORT Result cuDeviceGetCount(int *out) { BEGIN(-1); *out = visible_count; return 0; }

EXPORT Result cuDeviceGet(Device *out, int ordinal) {
    BEGIN(gpu_of(ordinal));
    if (gpu_of(ordinal) < 0) return INVALID_DEVICE;
    *out = ordinal;
    return 0;
}

EXPORT Result cuDeviceGetName(char *out, int size, Device device) {
    BEGIN(gpu_of(device));
    char text[256];
    if (gpu_of(device) < 0 || !told(text, sizeof text, "%s.name", keys_of(gpu_of(device)))) return INVALID_DEVICE;
    snprintf(out, (size_t)size, "%s", text);
    return 0;
}

enum { WARP_SIZE = 10, INTEGRATED = 18, COMPUTE_MODE = 20, PCI_BUS = 33, PCI_DEVICE = 34, UNIFIED = 41, PCI_DOMAIN = 50, MAJOR = 75, MINOR = 76 };

EXPORT Result cuDeviceGetAttribute(int *out, int attribute, Device device) {
    int gpu = gpu_of(device), major = 0, minor = 0;
    unsigned domain = 0, bus = 0, slot = 0;
    unsigned long long value = 0;
    char text[80] = "";
    BEGIN(gpu);
    if (gpu < 0) return INVALID_DEVICE;
    told(text, sizeof text, "gpu%d.compute_capability", gpu);
    sscanf(text, "%d.%d", &major, &minor);
    told(text, sizeof text, "gpu%d.pci", gpu);
    sscanf(text, "%x:%x:%x", &domain, &bus, &slot);
    switch (attribute) {
        case WARP_SIZE: value = 32; break;
        case INTEGRATED: number(&value, "gpu%d.integrated", gpu); break;
        case COMPUTE_MODE: number(&value, "gpu%d.compute_mode", gpu); break;
        case PCI_BUS: value = bus; break;
        case PCI_DEVICE: value = slot; break;
        case PCI_DOMAIN: value = domain; break;
        case UNIFIED: value = 1; break;
        case MAJOR: value = (unsigned long long)major; break;
        case MINOR: value = (unsigned long long)minor; break;
        default:
            if (!number(&value, "gpu%d.attribute%d", gpu, attribute)) return INVALID_VALUE;
    }
    *out = (int)value;
    return 0;
}

static Result total_memory(size_t *out, Device device) {
    unsigned long long total = 0;
    int gpu = gpu_of(device);
    if (gpu < 0) return INVALID_DEVICE;
    /* A GPU that shares the system's memory has a size for CUDA and none for NVML. */
    if (!number(&total, "%s.memory.total", keys_of(gpu))) number(&total, "gpu%d.memory.shared", gpu);
    *out = (size_t)total;
    return 0;
}

EXPORT Result cuDeviceTotalMem(size_t *out, Device device) { BEGIN(gpu_of(device)); return total_memory(out, device); }
EXPORT Result cuDeviceTotalMem_v2(size_t *out, Device device) { BEGIN(gpu_of(device)); return total_memory(out, device); }

static Result uuid_into(unsigned char *out, Device device) {
    char text[80];
    int byte = 0;
    if (gpu_of(device) < 0 || !told(text, sizeof text, "gpu%d.uuid", gpu_of(device))) return INVALID_DEVICE;
    for (const char *at = text + 4; *at && byte < 16;) { /* after "GPU-" */
        unsigned value;
        if (*at == '-') at++;
        if (sscanf(at, "%2x", &value) != 1) break;
        out[byte++] = (unsigned char)value;
        at += 2;
    }
    return 0;
}

EXPORT Result cuDeviceGetUuid(unsigned char *out, Device device) { BEGIN(gpu_of(device)); return uuid_into(out, device); }
#if BRANCH >= 470
EXPORT Result cuDeviceGetUuid_v2(unsigned char *out, Device device) { BEGIN(gpu_of(device)); return uuid_into(out, device); }
#endif

EXPORT Result cuDeviceGetPCIBusId(char *out, int size, Device device) {
    BEGIN(gpu_of(device));
    char text[80];
    if (gpu_of(device) < 0 || !told(text, sizeof text, "gpu%d.pci", gpu_of(device))) return INVALID_DEVICE;
    snprintf(out, (size_t)size, "%s", text + 4); /* CUDA writes four digits of the domain */
    return 0;
}

EXPORT Result cuDeviceCanAccessPeer(int *out, Device device, Device other) {
    BEGIN(gpu_of(device));
    unsigned long long status = 1;
    if (gpu_of(device) < 0 || gpu_of(other) < 0) return INVALID_DEVICE;
    number(&status, "gpu%d.peer%d", gpu_of(device), gpu_of(other));
    *out = status == 0;
    return 0;
}

static const struct { int code; const char *name, *text; } errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static Result error_into(int code, const char **out, int is_name) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code != code) continue;
        *out = is_name ? errors[i].name : errors[i].text;
        return 0;
    }
    *out = NULL;
    return INVALID_VALUE;
}

EXPORT Result cuGetErrorName(int code, const char **out) { return error_into(code, out, 1); }
EXPORT Result cuGetErrorString(int code, const char **out) { return error_into(code, out, 0); }
