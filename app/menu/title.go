package menu

import "time"

// titleEvery is the shortest time between two titles. A number beside the clock that changes more
// often distracts.
const titleEvery = time.Second

// A Title is the text beside the icon, and the time of its last change.
type Title struct {
	Text  string
	since time.Time
}

// Next returns the title to show at now, given the newest text. A title appears or disappears
// immediately. A title that changed less than a second ago stays. wait is how long it still stays,
// else 0.
func (t Title) Next(now time.Time, text string) (next Title, wait time.Duration) {
	if text == t.Text {
		return t, 0
	}
	if wait = titleEvery - now.Sub(t.since); t.Text != "" && text != "" && wait > 0 {
		return t, wait
	}
	return Title{text, now}, 0
}
