// Package linux makes the archive for Linux, its installer and its hash, and tries them in a root
// without a compiler.
//
// The archive runs on any x86-64 machine with AVX2 and a glibc that is new enough: it brings every
// library but glibc's, each as the system or the wheel of MLX has it. The program finds them by its
// DT_RPATH, which, unlike DT_RUNPATH, also serves what OpenBLAS loads. libmlx has its own, to
// ../../mlx_cpu.libs, so the folders keep the wheel's shape.
package linux
