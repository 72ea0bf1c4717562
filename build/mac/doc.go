// Package mac makes Tandem.app: it builds the programs for Apple silicon, puts the bundle together, signs
// it, validates it and packs it. On Linux it makes all but the two programs with a face, which are
// Objective-C and need Apple's SDK.
//
// The validator reads Mach-O files, signatures and property lists itself. The tools that read them come
// with a Mac, and most bundles are made on Linux.
package mac
