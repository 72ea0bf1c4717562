package main

// Foundation is called through C, so that the program links on other machines too. build/darwin/sdk
// lists the functions.

/*
#cgo LDFLAGS: -framework Foundation -lobjc
#include <stdint.h>
#include <stdlib.h>

extern void *objc_getClass(const char *);
extern void *sel_registerName(const char *);
extern void objc_msgSend(void);
extern void *objc_autoreleasePoolPush(void);
extern void objc_autoreleasePoolPop(void *);

typedef void *(*send)(void *, void *);
typedef void *(*send_text)(void *, void *, const char *);
typedef void *(*send_begin)(void *, void *, uint64_t, void *);
typedef void (*send_end)(void *, void *, void *);

// NSActivityUserInitiated: the system does not sleep by itself, and does not slow
// the process down.
static const uint64_t user_initiated = 0x00FFFFFFULL;

static void *process_info(void) {
	return ((send)objc_msgSend)(objc_getClass("NSProcessInfo"), sel_registerName("processInfo"));
}

static void *hold_begin(const char *reason) {
	void *pool = objc_autoreleasePoolPush();
	void *why = ((send_text)objc_msgSend)(objc_getClass("NSString"), sel_registerName("stringWithUTF8String:"), reason);
	void *activity = ((send_begin)objc_msgSend)(process_info(), sel_registerName("beginActivityWithOptions:reason:"), user_initiated, why);
	((send)objc_msgSend)(activity, sel_registerName("retain"));
	objc_autoreleasePoolPop(pool);
	return activity;
}

static void hold_end(void *activity) {
	void *pool = objc_autoreleasePoolPush();
	((send_end)objc_msgSend)(process_info(), sel_registerName("endActivity:"), activity);
	((send)objc_msgSend)(activity, sel_registerName("release"));
	objc_autoreleasePoolPop(pool);
}
*/
import "C"

import (
	"runtime"
	"unsafe"

	"tandem/app"
)

// hold is an activity of NSProcessInfo.
var hold app.Hold = func(reason string) func() {
	// The pool belongs to the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	why := C.CString("Tandem is " + reason)
	defer C.free(unsafe.Pointer(why))
	activity := C.hold_begin(why)
	return func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		C.hold_end(activity)
	}
}
