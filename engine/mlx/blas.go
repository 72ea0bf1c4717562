package mlx

/*
#cgo linux CFLAGS: -D_GNU_SOURCE
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// tandem_file returns the file of the library that a symbol resolves to, or
// NULL.
static const char *tandem_file(const char *symbol) {
	Dl_info info;
	void *address = dlsym(RTLD_DEFAULT, symbol);
	if (address == NULL || dladdr(address, &info) == 0)
		return NULL;
	return info.dli_fname;
}

// tandem_blas_threads returns how many threads OpenBLAS uses, or 0 if there is no OpenBLAS.
static int tandem_blas_threads(void) {
	int (*get)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
	return get != NULL ? get() : 0;
}

static void tandem_set_blas_threads(int n) {
	void (*set)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
	if (set != NULL)
		set(n);
}

// tandem_blas_core returns the processor whose kernels OpenBLAS uses, or NULL if there is no OpenBLAS.
static const char *tandem_blas_core(void) {
	char *(*get)(void) = (char *(*)(void))dlsym(RTLD_DEFAULT, "openblas_get_corename");
	return get != NULL ? get() : NULL;
}

// tandem_choose_blas_core has OpenBLAS choose its kernels again where it knows the processor's number for none: it
// computes as on the oldest one then, which has no AVX. A core that a person set stays.
static void tandem_choose_blas_core(void) {
#if defined(__x86_64__)
	const char *core = tandem_blas_core(), *variable = "OPENBLAS_CORETYPE";
	void (*quit)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "gotoblas_dynamic_quit");
	void (*init)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "gotoblas_dynamic_init");
	if (core == NULL || strcmp(core, "Prescott") != 0 || quit == NULL || init == NULL || getenv(variable) != NULL)
		return;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
		__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		setenv(variable, "SkylakeX", 1);
	else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		setenv(variable, "Haswell", 1);
	quit();
	init();
	unsetenv(variable);
#endif
}

static const char *tandem_blas(void) { return tandem_file("cblas_sgemm"); }
static const char *tandem_mlxc(void) { return tandem_file("mlx_array_new"); }
*/
import "C"

import (
	"runtime"
	"sync"
)

// BLAS returns the file of the library that computes matrix products on the CPU, as the dynamic
// linker resolved it, empty if none is linked. Results of two libraries differ in their last bits,
// so tables of results name it.
func BLAS() string { return goString(C.tandem_blas()) }

// BLASCore returns the processor whose kernels OpenBLAS uses, such as SkylakeX, empty if there is no OpenBLAS.
func BLASCore() string { return goString(C.tandem_blas_core()) }

// chooseBLASCore is called before the first product.
var chooseBLASCore = sync.OnceFunc(func() { C.tandem_choose_blas_core() })

// Library returns the file of mlx-c, as the dynamic linker resolved it.
func Library() string { return goString(C.tandem_mlxc()) }

// Threads returns how many threads share an operation on the CPU where [Options] name no number: as
// many as Go runs on, which knows quotas of the system, and no more than OpenBLAS began with.
func Threads() int {
	if limit := blasThreads(); limit > 0 {
		return min(runtime.GOMAXPROCS(0), limit)
	}
	return runtime.GOMAXPROCS(0)
}

// blasThreads returns how many threads OpenBLAS began with, or 0 if there is no OpenBLAS.
var blasThreads = sync.OnceValue(usedBLASThreads)

// usedBLASThreads returns how many threads OpenBLAS uses now.
func usedBLASThreads() int { return int(C.tandem_blas_threads()) }

// setBLASThreads limits the threads of OpenBLAS.
func setBLASThreads(n int) {
	if limit := blasThreads(); limit > 0 {
		C.tandem_set_blas_threads(C.int(min(n, limit)))
	}
}

func goString(file *C.char) string {
	if file == nil {
		return ""
	}
	return C.GoString(file)
}
