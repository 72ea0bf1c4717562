// Package menu decides what the menu bar shows. [Of] makes an icon, a title and rows from a [View].
// [Draw] shows one menu in place of another and touches only what differs.
//
// The library that draws the menu, getlantern/systray, can neither remove a row nor insert one. So
// the rows are a fixed pool of slots, made once in the order in which they are shown. Most of them
// are hidden most of the time. Models beyond the pool are in the window. A click only says its
// slot, so a request or a model in memory keeps its slots while it lasts.
//
// The package does not depend on the library or the system; app/cmd/menubar connects them.
package menu
