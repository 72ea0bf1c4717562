// Package setup makes a machine ready to build Tandem: packages of the operating system, MLX and
// mlx-c, the Rust crate, Python environments, the starter model and the interface.
//
// A [Builder] knows the checkout, the cache and where to print. Every other package of build takes
// one.
//
// Nothing is done twice. What is downloaded or compiled outside Go's own cache lies in
// os.UserCacheDir()/tandem-dev, in a [Cache] of folders. A folder's name carries a hash of the pins
// and inputs that it was made from. All checkouts share the cache, and several runs may use it at
// once. A folder that a killed run left half-made is made again.
//
// The checkout holds links to the folders of its pins: engine/mlx/.deps and engine/native/.deps. So
// plain go build and go test work in any editor after setup. The link models/starter/.deps leads
// tests to the starter model.
//
// typescript.go writes the interface's types from the structs of app/control. tygo v0.2.20 was
// tried with enum_style union, and says less:
//   - 35 fields that may be null and left out lose the null. With optional_type null, all optional
//     fields become required.
//   - 5 of 8 sets of string constants become plain string.
//   - A run of three numbers becomes number[].
//   - The struct Drafter becomes a union of the constants DrafterAuto and DrafterNone.
//
// No code of a dependency is changed, with one exception: mlx-c.patch makes mlx-c, which we compile
// ourselves, fit a newer MLX than it was written against.
//
// pins.go has every pinned version, system.go the packages of the operating system.
package setup
