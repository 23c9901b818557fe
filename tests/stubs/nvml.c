/* A libnvidia-ml.so.1 of our own: NVML's answers for the machine of a profile. Compiled with -DBRANCH=535 it exports
 * what a driver of that branch does; what is newer is absent, as it is from a real old library. */
#include "profile.h"

typedef int Return;
typedef unsigned long long Wide;
typedef struct Device {
    int gpu, mig; /* mig: -1 for the whole GPU */
} Device;

enum { UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, WRONG_VERSION = 25 };
enum { GPUS = 64, SLICES = 8 };

static Device devices[GPUS][SLICES + 1];
static int started;

static int gpu_count(void) {
    Wide count = 0;
    number(&count, "count");
    return (int)count;
}

static Device *device_of(int gpu, int mig) {
    Device *device = &devices[gpu][mig + 1];
    device->gpu = gpu;
    device->mig = mig;
    return device;
}

/* The prefix of the keys of a device: "gpu0." or "gpu0.mig1." */
static const char *keys_of(const Device *device) {
    static __thread char keys[40];
    if (device->mig < 0) snprintf(keys, sizeof keys, "gpu%d", device->gpu);
    else snprintf(keys, sizeof keys, "gpu%d.mig%d", device->gpu, device->mig);
    return keys;
}

#define BEGIN(device_or_null)                                               \
    do {                                                                    \
        const Device *about = (device_or_null);                             \
        int code = fault(__func__, about ? about->gpu : -1);                \
        if (code) return code;                                              \
        if (!started) return UNINITIALIZED;                                 \
    } while (0)

static Return text_into(char *out, unsigned size, const char *keys, const char *key) {
    char text[256];
    int has = *keys ? told(text, sizeof text, "%s.%s", keys, key) : told(text, sizeof text, "%s", key);
    if (!has) return NOT_SUPPORTED;
    if (strlen(text) >= size) return TOO_SMALL;
    strcpy(out, text);
    return 0;
}

static Return number_into(unsigned *out, const Device *device, const char *key) {
    Wide value;
    if (!number(&value, "%s.%s", keys_of(device), key)) return NOT_SUPPORTED;
    *out = (unsigned)value;
    return 0;
}

static Return wide_into(Wide *out, const Device *device, const char *key) {
    return number(out, "%s.%s", keys_of(device), key) ? 0 : NOT_SUPPORTED;
}

#define TEXT(function, key) \
    EXPORT Return function(Device *device, char *out, unsigned size) { BEGIN(device); return text_into(out, size, keys_of(device), key); }
#define NUMBER(function, key) \
    EXPORT Return function(Device *device, unsigned *out) { BEGIN(device); return number_into(out, device, key); }
#define WIDE(function, key) \
    EXPORT Return function(Device *device, Wide *out) { BEGIN(device); return wide_into(out, device, key); }

/* --- the library and the system ----------------------------------------------------------------------------- */

/* The three ways to begin are one to a fault, by whatever name it calls them. */
static Return begin(void) {
    static const char *names[] = {"nvmlInit_v2", "nvmlInit", "nvmlInitWithFlags"};
    for (int i = 0; i < 3; i++) {
        int code = fault(names[i], -1);
        if (code) return code;
    }
    if (!*profile()) return 9; /* nobody said which machine to be */
    started = 1;
    return 0;
}

EXPORT Return nvmlInit(void) { return begin(); }
EXPORT Return nvmlInit_v2(void) { return begin(); }
EXPORT Return nvmlInitWithFlags(unsigned flags) { (void)flags; return begin(); }
EXPORT Return nvmlShutdown(void) { BEGIN(NULL); started = 0; return 0; }

EXPORT const char *nvmlErrorString(Return code) {
    switch (code) {
        case 0: return "Success";
        case 1: return "Uninitialized";
        case 2: return "Invalid Argument";
        case 3: return "Not Supported";
        case 4: return "Insufficient Permissions";
        case 6: return "Not Found";
        case 7: return "Insufficient Size";
        case 8: return "Insufficient External Power";
        case 9: return "Driver Not Loaded";
        case 10: return "Timeout";
        case 11: return "Interrupt Request Issue";
        case 12: return "NVML Shared Library Not Found";
        case 13: return "Function Not Found";
        case 14: return "Corrupted infoROM";
        case 15: return "GPU is lost";
        case 16: return "GPU requires reset";
        case 17: return "GPU access blocked by the operating system";
        case 18: return "Driver/library version mismatch";
        case 19: return "In use by another client";
        case 20: return "Insufficient Memory";
        case 21: return "No data";
        case 25: return "Argument version mismatch";
        case 28: return "GPU not found";
        default: return "Unknown Error";
    }
}

EXPORT Return nvmlSystemGetDriverVersion(char *out, unsigned size) { BEGIN(NULL); return text_into(out, size, "", "driver"); }
EXPORT Return nvmlSystemGetNVMLVersion(char *out, unsigned size) { BEGIN(NULL); return text_into(out, size, "", "nvml"); }

static Return cuda_version(int *out) {
    Wide value;
    if (!number(&value, "cuda")) return NOT_SUPPORTED;
    *out = (int)value;
    return 0;
}

EXPORT Return nvmlSystemGetCudaDriverVersion(int *out) { BEGIN(NULL); return cuda_version(out); }
EXPORT Return nvmlSystemGetCudaDriverVersion_v2(int *out) { BEGIN(NULL); return cuda_version(out); }

EXPORT Return nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size) {
    BEGIN(NULL);
    for (int gpu = 0; gpu < gpu_count(); gpu++) {
        Wide count = 0, held;
        number(&count, "gpu%d.processes", gpu);
        for (int i = 0; i < (int)count; i++) {
            char key[40];
            snprintf(key, sizeof key, "process%d.name", i);
            if (!number(&held, "gpu%d.process%d.pid", gpu, i) || held != pid) continue;
            char keys[20];
            snprintf(keys, sizeof keys, "gpu%d", gpu);
            return text_into(out, size, keys, key) ? NOT_FOUND : 0;
        }
    }
    return NOT_FOUND;
}

/* --- handles ------------------------------------------------------------------------------------------------- */

EXPORT Return nvmlDeviceGetCount(unsigned *out) { BEGIN(NULL); *out = (unsigned)gpu_count(); return 0; }
EXPORT Return nvmlDeviceGetCount_v2(unsigned *out) { BEGIN(NULL); *out = (unsigned)gpu_count(); return 0; }

static Return handle(unsigned index, Device **out) {
    if (index >= (unsigned)gpu_count()) return INVALID;
    *out = device_of((int)index, -1);
    return 0;
}

EXPORT Return nvmlDeviceGetHandleByIndex(unsigned index, Device **out) {
    BEGIN(index < GPUS ? device_of((int)index, -1) : NULL);
    return handle(index, out);
}
EXPORT Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **out) {
    BEGIN(index < GPUS ? device_of((int)index, -1) : NULL);
    return handle(index, out);
}

static Return handle_by(const char *key, const char *wanted, Device **out) {
    for (int gpu = 0; gpu < gpu_count(); gpu++) {
        char text[256];
        if (told(text, sizeof text, "gpu%d.%s", gpu, key) && strcasecmp(text, wanted) == 0)
            return handle((unsigned)gpu, out);
    }
    return NOT_FOUND;
}

EXPORT Return nvmlDeviceGetHandleByUUID(const char *uuid, Device **out) { BEGIN(NULL); return handle_by("uuid", uuid, out); }
EXPORT Return nvmlDeviceGetHandleByPciBusId_v2(const char *bus, Device **out) { BEGIN(NULL); return handle_by("pci", bus, out); }

/* --- one GPU -------------------------------------------------------------------------------------------------- */

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
NUMBER(nvmlDeviceGetMinorNumber, "minor")
NUMBER(nvmlDeviceGetPowerUsage, "power.used")
NUMBER(nvmlDeviceGetPowerManagementLimit, "power.limit")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power.limit")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence")
NUMBER(nvmlDeviceGetComputeMode, "compute_mode")
NUMBER(nvmlDeviceGetDisplayMode, "display.mode")
NUMBER(nvmlDeviceGetDisplayActive, "display.active")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie.width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie.width_max")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie.generation")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie.generation_max")
NUMBER(nvmlDeviceGetMaxMigDeviceCount, "mig.max")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "retired.pending")
WIDE(nvmlDeviceGetCurrentClocksThrottleReasons, "throttle")
#if BRANCH >= 535
WIDE(nvmlDeviceGetCurrentClocksEventReasons, "throttle")
#endif

EXPORT Return nvmlDeviceGetIndex(Device *device, unsigned *out) { BEGIN(device); *out = (unsigned)device->gpu; return 0; }

EXPORT Return nvmlDeviceGetTemperature(Device *device, int sensor, unsigned *out) {
    BEGIN(device);
    return sensor ? INVALID : number_into(out, device, "temperature");
}

EXPORT Return nvmlDeviceGetCudaComputeCapability(Device *device, int *major, int *minor) {
    BEGIN(device);
    char text[20];
    if (!told(text, sizeof text, "gpu%d.compute_capability", device->gpu)) return NOT_SUPPORTED;
    return sscanf(text, "%d.%d", major, minor) == 2 ? 0 : NOT_SUPPORTED;
}

typedef struct Utilization { unsigned gpu, memory; } Utilization;
EXPORT Return nvmlDeviceGetUtilizationRates(Device *device, Utilization *out) {
    BEGIN(device);
    Return code = number_into(&out->gpu, device, "utilization.gpu");
    return code ? code : number_into(&out->memory, device, "utilization.memory");
}

typedef struct Memory { Wide total, free, used; } Memory;
EXPORT Return nvmlDeviceGetMemoryInfo(Device *device, Memory *out) {
    BEGIN(device);
    Wide reserved = 0;
    Return code = wide_into(&out->total, device, "memory.total");
    if (code || (code = wide_into(&out->used, device, "memory.used"))) return code;
    wide_into(&reserved, device, "memory.reserved");
    out->used += reserved; /* the first form of the answer counts what is reserved as used */
    out->free = out->total - out->used;
    return 0;
}

#if BRANCH >= 510
typedef struct MemoryV2 { unsigned version; Wide total, reserved, free, used; } MemoryV2;
EXPORT Return nvmlDeviceGetMemoryInfo_v2(Device *device, MemoryV2 *out) {
    BEGIN(device);
    if (out->version != (sizeof(MemoryV2) | 2u << 24)) return WRONG_VERSION;
    Return code = wide_into(&out->total, device, "memory.total");
    if (code || (code = wide_into(&out->used, device, "memory.used"))) return code;
    out->reserved = 0;
    wide_into(&out->reserved, device, "memory.reserved");
    out->free = out->total - out->reserved - out->used;
    return 0;
}
#endif

typedef struct Pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
} Pci;

static Return pci_into(Pci *out, const Device *device, const char *key) {
    memset(out, 0, sizeof *out);
    Return code = text_into(out->address, sizeof out->address, keys_of(device), key);
    if (code) return code;
    sscanf(out->address, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    snprintf(out->legacy, sizeof out->legacy, "%04X:%02X:%02X.0", out->domain & 0xffff, out->bus & 0xff, out->device & 0xff);
    number_into(&out->id, device, "pci_id");
    return 0;
}

EXPORT Return nvmlDeviceGetPciInfo(Device *device, Pci *out) { BEGIN(device); return pci_into(out, device, "pci"); }
EXPORT Return nvmlDeviceGetPciInfo_v2(Device *device, Pci *out) { BEGIN(device); return pci_into(out, device, "pci"); }
EXPORT Return nvmlDeviceGetPciInfo_v3(Device *device, Pci *out) { BEGIN(device); return pci_into(out, device, "pci"); }

/* --- processes ------------------------------------------------------------------------------------------------- */

typedef struct Process { unsigned pid; Wide memory; } Process;
typedef struct ProcessInInstance { unsigned pid; Wide memory; unsigned gpu_instance, compute_instance; } ProcessInInstance;

static void process_into(void *rows, int row, int in_instance, const Device *device, int process) {
    Wide pid = 0, memory = ~0ull; /* NVML_VALUE_NOT_AVAILABLE */
    number(&pid, "gpu%d.process%d.pid", device->gpu, process);
    number(&memory, "gpu%d.process%d.memory", device->gpu, process);
    if (in_instance) ((ProcessInInstance *)rows)[row] = (ProcessInInstance){(unsigned)pid, memory, ~0u, ~0u};
    else ((Process *)rows)[row] = (Process){(unsigned)pid, memory};
}

static Return processes_into(const Device *device, const char *kind, int in_instance, unsigned *count, void *rows) {
    Wide all = 0;
    unsigned room = *count, found = 0;
    if (!number(&all, "gpu%d.processes", device->gpu)) return NOT_SUPPORTED;
    for (int i = 0; i < (int)all; i++) {
        char has[20] = "";
        told(has, sizeof has, "gpu%d.process%d.kind", device->gpu, i);
        if (strcmp(has, kind)) continue;
        if (rows && found < room) process_into(rows, (int)found, in_instance, device, i);
        found++;
    }
    *count = found;
    return found > room || (found && !rows) ? TOO_SMALL : 0;
}

#define PROCESSES(function, kind, in_instance)                                 \
    EXPORT Return function(Device *device, unsigned *count, void *rows) {      \
        BEGIN(device);                                                         \
        return processes_into(device, kind, in_instance, count, rows);         \
    }
PROCESSES(nvmlDeviceGetComputeRunningProcesses, "compute", 0)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, "graphics", 0)
#if BRANCH >= 450
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, "compute", 1)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics", 1)
#endif
#if BRANCH >= 510
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, "compute", 1)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics", 1)
#endif

/* --- MIG ------------------------------------------------------------------------------------------------------- */

#if BRANCH >= 450
EXPORT Return nvmlDeviceGetMigMode(Device *device, unsigned *current, unsigned *pending) {
    BEGIN(device);
    Return code = number_into(current, device, "mig.mode");
    if (!code && number_into(pending, device, "mig.pending")) *pending = *current;
    return code;
}

EXPORT Return nvmlDeviceGetMigDeviceHandleByIndex(Device *device, unsigned index, Device **out) {
    BEGIN(device);
    char name[256];
    if (index >= SLICES) return INVALID;
    if (!told(name, sizeof name, "gpu%d.mig%u.name", device->gpu, index)) return NOT_FOUND;
    *out = device_of(device->gpu, (int)index);
    return 0;
}

EXPORT Return nvmlDeviceIsMigDeviceHandle(Device *device, unsigned *out) { BEGIN(device); *out = device->mig >= 0; return 0; }

EXPORT Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device *device, Device **out) {
    BEGIN(device);
    *out = device_of(device->gpu, -1);
    return device->mig < 0 ? INVALID : 0;
}

NUMBER(nvmlDeviceGetGpuInstanceId, "gpu_instance")
NUMBER(nvmlDeviceGetComputeInstanceId, "compute_instance")
#endif

/* --- health ---------------------------------------------------------------------------------------------------- */

EXPORT Return nvmlDeviceGetEccMode(Device *device, int *current, int *pending) {
    BEGIN(device);
    unsigned mode;
    Return code = number_into(&mode, device, "ecc.mode");
    if (!code) *current = *pending = (int)mode;
    return code;
}

EXPORT Return nvmlDeviceGetTotalEccErrors(Device *device, int type, int counter, Wide *out) {
    BEGIN(device);
    unsigned mode = 0;
    if (number_into(&mode, device, "ecc.mode") || !mode) return NOT_SUPPORTED;
    (void)counter;
    return wide_into(out, device, type ? "ecc.uncorrected" : "ecc.corrected");
}

#if BRANCH >= 450
EXPORT Return nvmlDeviceGetRemappedRows(Device *device, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
    BEGIN(device);
    Return code = number_into(corrected, device, "remapped.corrected");
    if (code) return code;
    *uncorrected = *pending = *failed = 0;
    number_into(uncorrected, device, "remapped.uncorrected");
    number_into(pending, device, "remapped.pending");
    number_into(failed, device, "remapped.failed");
    return 0;
}
#endif

static Return pages_into(const Device *device, int cause, unsigned *count, Wide *addresses, Wide *times) {
    unsigned found, room = *count;
    Return code = number_into(&found, device, cause ? "retired.double" : "retired.single");
    if (code) return code;
    for (unsigned i = 0; addresses && i < found && i < room; i++) {
        addresses[i] = 0x10000ull * (i + 1);
        if (times) times[i] = 1700000000ull + i;
    }
    *count = found;
    return found > room ? TOO_SMALL : 0;
}

EXPORT Return nvmlDeviceGetRetiredPages(Device *device, int cause, unsigned *count, Wide *addresses) {
    BEGIN(device);
    return pages_into(device, cause, count, addresses, NULL);
}
EXPORT Return nvmlDeviceGetRetiredPages_v2(Device *device, int cause, unsigned *count, Wide *addresses, Wide *times) {
    BEGIN(device);
    return pages_into(device, cause, count, addresses, times);
}

/* --- between GPUs ----------------------------------------------------------------------------------------------- */

EXPORT Return nvmlDeviceGetNvLinkState(Device *device, unsigned link, unsigned *out) {
    BEGIN(device);
    unsigned total, active = 0;
    Return code = number_into(&total, device, "nvlink.total");
    if (code) return code;
    if (link >= total) return INVALID;
    number_into(&active, device, "nvlink.active");
    *out = link < active;
    return 0;
}

EXPORT Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device *device, unsigned link, Pci *out) {
    BEGIN(device);
    unsigned active;
    Return code = number_into(&active, device, "nvlink.active");
    if (code) return code;
    return link < active ? pci_into(out, device, "nvlink.remote") : INVALID;
}

enum { P2P_NVLINK = 2 };
EXPORT Return nvmlDeviceGetP2PStatus(Device *device, Device *other, int about, int *out) {
    BEGIN(device);
    unsigned status;
    char key[40];
    snprintf(key, sizeof key, about == P2P_NVLINK ? "peer%d.nvlink" : "peer%d", other->gpu);
    Return code = number_into(&status, device, key);
    if (!code) *out = (int)status;
    return code;
}

EXPORT Return nvmlDeviceGetTopologyCommonAncestor(Device *device, Device *other, int *out) {
    BEGIN(device);
    Wide level;
    if (!number(&level, "topology")) return NOT_SUPPORTED;
    *out = device->gpu == other->gpu ? 0 : (int)level;
    return 0;
}

#if BRANCH >= 525
typedef struct Fabric { unsigned char cluster[16]; unsigned status, clique; unsigned char state; } Fabric;
EXPORT Return nvmlDeviceGetGpuFabricInfo(Device *device, Fabric *out) {
    BEGIN(device);
    unsigned state;
    Return code = number_into(&state, device, "fabric.state");
    if (!code) *out = (Fabric){{0}, 0, 0, (unsigned char)state};
    return code;
}
#endif
#if BRANCH >= 550
typedef struct FabricV2 { unsigned version; unsigned char cluster[16]; unsigned status, clique; unsigned char state; unsigned health; } FabricV2;
EXPORT Return nvmlDeviceGetGpuFabricInfoV(Device *device, FabricV2 *out) {
    BEGIN(device);
    unsigned state;
    Return code = number_into(&state, device, "fabric.state");
    if (!code) out->status = out->clique = out->health = 0, out->state = (unsigned char)state;
    return code;
}
#endif
