/* What both stubs share: the machine they play, read from a file of key=value lines, and the faults they are told
 * to have. LORA_DOCTOR_STUB names the file, which is read once, or each time where LORA_DOCTOR_STUB_CHANGES is set;
 * LORA_DOCTOR_STUB_FAULTS holds the faults, "FUNCTION[@GPU]=WHAT" with semicolons between, where FUNCTION may end
 * in * and WHAT is a number or hang, segv, abort. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define MIB (1024ull * 1024ull)

static const char *profile(void) {
    static char *text;
    const char *path = getenv("LORA_DOCTOR_STUB");
    if (!text || getenv("LORA_DOCTOR_STUB_CHANGES")) {
        if (!text) text = calloc(1, 1 << 20);
        FILE *file = path ? fopen(path, "r") : NULL;
        if (file) {
            text[0] = '\n'; /* every key follows a line's end */
            text[1 + fread(text + 1, 1, (1 << 20) - 2, file)] = '\0';
            fclose(file);
        }
    }
    return text;
}

/* The value of a key into `out`; 0 where the machine has no such key. */
static int told(char *out, size_t size, const char *form, ...) {
    char key[160] = "\n";
    va_list rest;
    va_start(rest, form);
    vsnprintf(key + 1, sizeof key - 2, form, rest);
    va_end(rest);
    strcat(key, "=");
    const char *at = strstr(profile(), key);
    if (!at) return 0;
    at += strlen(key);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
    return 1;
}

static int number(unsigned long long *out, const char *form, ...) {
    char key[140], text[80];
    va_list rest;
    va_start(rest, form);
    vsnprintf(key, sizeof key, form, rest);
    va_end(rest);
    if (!told(text, sizeof text, "%s", key)) return 0;
    *out = strtoull(text, NULL, 0);
    return 1;
}

/* Does one fault's name, as far as `length`, mean this function? A * at its end stands for any rest. */
static int means(const char *name, size_t length, const char *function) {
    if (length && name[length - 1] == '*') return strncmp(name, function, length - 1) == 0;
    return strlen(function) == length && strncmp(name, function, length) == 0;
}

static int happen(const char *what) {
    if (strncmp(what, "hang", 4) == 0)
        for (;;) pause();
    if (strncmp(what, "segv", 4) == 0) raise(SIGSEGV);
    if (strncmp(what, "abort", 5) == 0) abort();
    return atoi(what);
}

/* The code that a function must return for its faults, 0 for none. `gpu` is -1 where it is about no GPU. */
static int fault(const char *function, int gpu) {
    const char *at = getenv("LORA_DOCTOR_STUB_FAULTS");
    while (at && *at) {
        size_t whole = strcspn(at, ";"), left = strcspn(at, "=");
        size_t name = strcspn(at, "@=");
        int any = name == left;
        if (left < whole && means(at, name, function) && (any || atoi(at + name + 1) == gpu))
            return happen(at + left + 1);
        at += whole + (at[whole] == ';');
    }
    return 0;
}
