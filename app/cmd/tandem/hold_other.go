//go:build !darwin

package main

import "tandem/app"

// hold is nothing here: the system lets a busy process be.
var hold app.Hold
