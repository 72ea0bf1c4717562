//go:build long

package enginetest

// Long asks for the long matrices: every case, and hundreds of random places.
const Long = true
