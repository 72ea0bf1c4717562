// Package menu says what the menu bar shows: a pure function from what is known
// to an icon, a title and rows, and the difference between two of these.
//
// The library that draws the menu, getlantern/systray, can neither remove a row
// nor insert one. So the rows are a fixed pool of slots, made once in the order
// they are shown, of which most are hidden most of the time; models beyond the
// pool are in the window.
//
// It knows neither the library nor the system; app/cmd/menubar brings them
// together.
package menu
