// Package mac makes Tandem.app: it builds the programs for Apple silicon, puts the bundle together,
// signs it, validates it and packs it. On Linux it makes all but the menu bar and the window, which
// are Objective-C and need Apple's SDK.
//
// It reads Mach-O files and signatures itself, for the validator: the tools that do come with a Mac,
// and most bundles are made on Linux.
package mac
