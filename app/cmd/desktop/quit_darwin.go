//go:build desktop

package main

// The system asks whether it may end the window. Wails answers no and closes the window by itself,
// which cancels a logout or a restart. The answer here is yes. The server keeps all state, and a
// server that this process started ends with it, by the end of its standard input.

/*
#cgo CFLAGS: -x objective-c
#cgo LDFLAGS: -framework AppKit
#import <AppKit/AppKit.h>
#import <objc/runtime.h>

static NSApplicationTerminateReply quit_now(id delegate, SEL question, NSApplication *app) {
	(void)delegate, (void)question, (void)app;
	return NSTerminateNow;
}

static int quit_install(void) {
	SEL question = @selector(applicationShouldTerminate:);
	Class delegate = objc_getClass("AppDelegate");
	Method method = delegate ? class_getInstanceMethod(delegate, question) : NULL;
	if (!method)
		return 0;
	class_replaceMethod(delegate, question, (IMP)quit_now, method_getTypeEncoding(method));
	return 1;
}
*/
import "C"

import "errors"

// letSystemQuit lets the system end the window.
func letSystemQuit() error {
	if C.quit_install() == 0 {
		return errors.New("the window may call off a logout: Wails asks elsewhere whether it may end")
	}
	return nil
}
