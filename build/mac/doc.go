// Package mac makes Tandem.app: it builds the programs for Apple silicon, puts the bundle together,
// signs it, validates it and packs it. On Linux it makes all but the menu bar and the window, which
// are Objective-C and need Apple's SDK.
//
// Some files do work that no maintained tool does well enough.
//
//   - licences.go lists the licences of Go modules, Rust crates, npm packages, Go, MLX and
//     metal-cpp, with their texts and notices. go-licenses v1.6.0 knows Go modules alone. It
//     reports ours as faults, calls the licence of modernc.org/mathutil unknown, and brings 26
//     modules into the build.
//   - macho.go and signature.go read Mach-O files and signatures for the validator. The tools that
//     read them come with a Mac, and most bundles are made on Linux.
package mac
