// Package mac makes Tandem.app: it builds the programs for Apple silicon, puts the bundle together, signs
// it, validates it and packs it. On Linux it makes all but the two programs with a face, which are
// Objective-C and need Apple's SDK.
//
// A small program for each of these stands here where a kept one does not do the work:
//   - licences.go lists the licences of Go modules, Rust crates, npm packages, Go, MLX and metal-cpp, with
//     their texts and notices. go-licenses v1.6.0 knows Go modules alone. It reports ours as faults, calls
//     the licence of modernc.org/mathutil unknown, and brings 26 modules into the build.
//   - macho.go, signature.go and plist.go are what the validator reads bundles with.
//
// The validator reads Mach-O files, signatures and property lists itself. The tools that read them come
// with a Mac, and most bundles are made on Linux.
package mac
