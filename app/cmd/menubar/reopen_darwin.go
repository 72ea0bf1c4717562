//go:build desktop

package main

// A click in the Dock or the Finder on a running app sends it an event and starts no second
// process. The handler writes a byte into a pipe, so that C calls no Go. It is installed on the
// main thread, after AppKit has installed its own.

/*
#cgo CFLAGS: -x objective-c
#cgo LDFLAGS: -framework CoreServices
#include <CoreServices/CoreServices.h>
#include <dispatch/dispatch.h>
#include <unistd.h>

static OSErr reopened(const AppleEvent *event, AppleEvent *reply, SRefCon pipe) {
	char byte = 0;
	(void)event, (void)reply;
	return write((int)(intptr_t)pipe, &byte, 1) == 1 ? noErr : errAEEventFailed;
}

static void reopen_install(void *pipe) {
	AEInstallEventHandler(kCoreEventClass, kAEReopenApplication, NewAEEventHandlerUPP(reopened), (SRefCon)pipe, false);
}

static void reopen_watch(int pipe) {
	dispatch_async_f(dispatch_get_main_queue(), (void *)(intptr_t)pipe, reopen_install);
}
*/
import "C"

import "os"

// onReopen calls f at each such event, as long as the process runs.
func onReopen(f func()) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	C.reopen_watch(C.int(w.Fd()))
	go func() {
		defer w.Close() // keeps w from being collected
		var b [1]byte
		for {
			if _, err := r.Read(b[:]); err != nil {
				return
			}
			f()
		}
	}()
	return nil
}
