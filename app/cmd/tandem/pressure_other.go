//go:build !darwin

package main

import "tandem/app/home"

// pressure reads what the kernel tells of tasks that wait for memory.
var pressure home.PressureSource = home.WatchStalls
