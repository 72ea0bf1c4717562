//go:build desktop

package main

// SMAppService exists in Objective-C only. These are functions instead of a class, because the
// menu's library defines a class with a common name already.

/*
#cgo CFLAGS: -x objective-c
#cgo LDFLAGS: -framework Foundation -framework ServiceManagement
#import <Foundation/Foundation.h>
#import <ServiceManagement/ServiceManagement.h>
#include <string.h>

static SMAppService *login_agent(void) {
	return [SMAppService agentServiceWithPlistName:@"dev.tandem.Tandem.login.plist"];
}

static int login_status(void) {
	@autoreleasepool {
		return (int)[login_agent() status];
	}
}

static int login_set(int on, char *why, size_t size) {
	@autoreleasepool {
		NSError *error = nil;
		BOOL done = on ? [login_agent() registerAndReturnError:&error]
		: [login_agent() unregisterAndReturnError:&error];
		if (!done)
			strlcpy(why, error ? [[error localizedDescription] UTF8String] : "no reason was given", size);
		return done;
	}
}
*/
import "C"

import (
	"errors"
	"fmt"

	"tandem/app/menu"
)

// The states of a login item, as the system reports them.
const (
	loginEnabled  = 1 // SMAppServiceStatusEnabled
	loginApproval = 2 // SMAppServiceStatusRequiresApproval
)

// login returns whether Tandem starts at login, by the agent in the bundle.
func login() menu.Login {
	if C.login_status() == loginEnabled {
		return menu.LoginOn
	}
	return menu.LoginOff
}

// setLogin makes Tandem start at login, or not.
func setLogin(on bool) error {
	var why [512]C.char
	wanted := C.int(0)
	if on {
		wanted = 1
	}
	if C.login_set(wanted, &why[0], C.size_t(len(why))) == 0 && C.login_status() != loginApproval {
		return fmt.Errorf("starting at login cannot be changed: %s", C.GoString(&why[0]))
	}
	if on && C.login_status() == loginApproval {
		return errors.New("allow Tandem in System Settings, General, Login Items")
	}
	return nil
}
