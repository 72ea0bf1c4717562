// Package ui tests the interface in a browser, and the menu bar and the window on a display of its
// own. It also measures what a person sees of them, and how much of it the window loads.
package ui
