package menu

import "time"

// titleEvery is how often the title may change: a number that changes more often
// beside the clock is unrest.
const titleEvery = time.Second

// A Title is the text beside the icon, as it is shown, and since when.
type Title struct {
	Text  string
	since time.Time
}

// Next returns the title to show at a moment, where text is what there is to say. One
// that comes or goes does so at once. One that changed less than a second ago stays:
// wait is how long, and 0 where nothing is held back.
func (t Title) Next(now time.Time, text string) (next Title, wait time.Duration) {
	if text == t.Text {
		return t, 0
	}
	if wait = titleEvery - now.Sub(t.since); t.Text != "" && text != "" && wait > 0 {
		return t, wait
	}
	return Title{text, now}, 0
}
