//go:build !darwin

package main

import "tandem/app"

// hold does nothing here: other systems do not sleep while a process works.
var hold app.Hold
