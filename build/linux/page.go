package linux

import (
	"fmt"
	"regexp"
	"strings"
)

// pages are what a newcomer reads, in the order in which they are walked.
var pages = []string{"app/START.md", "README.md"}

// lacking is what the root does not have for blocks that begin with these words. They are left out.
var lacking = map[string]string{"go run ": "Go", "curl ": "curl", "tandem pull ": "network"}

// A step is what a page tells its reader to type, and what it says that this prints.
type step struct {
	at       string // page and line, such as README.md:52
	commands string
	lacks    string // what the root does not have for it, empty if it is run
	prints   string // lines of a terminal; those that begin with >>> are typed into a chat
}

// alone matches a line that runs until its reader ends it.
var alone = regexp.MustCompile(`^tandem (serve|chat)\b`)

// readSteps returns the steps of a page of Markdown: its blocks of code, fenced or indented.
func readSteps(name, page string) (steps []step) {
	open, language := false, ""
	n, last := 0, 0 // numbers of this line, and of the last that had a fence or was indented
	for line := range strings.Lines(page) {
		n++
		fence, isFence := strings.CutPrefix(line, "```")
		code, indented := strings.CutPrefix(line, "    ")
		begins := false
		switch {
		case isFence:
			open, language, last = !open, strings.TrimSpace(fence), n
			continue
		case open:
			code, begins = line, n == last+1
		case indented:
			language, begins, last = "sh", n != last+1, n
		default:
			continue
		}
		switch {
		case language == "text" && len(steps) > 0:
			steps[len(steps)-1].prints += code
			continue
		case begins || alone.MatchString(code) || alone.MatchString(steps[len(steps)-1].commands):
			s := step{at: fmt.Sprintf("%s:%d", name, n)}
			if language != "sh" {
				s.lacks = language
			}
			steps = append(steps, s)
		}
		s := &steps[len(steps)-1]
		s.commands += code
		for words, what := range lacking {
			if strings.HasPrefix(s.commands, words) {
				s.lacks = what
			}
		}
	}
	return steps
}

// script returns the call of a function of walk.sh that does the step.
func (s step) script() string {
	function, input := "run", s.commands
	if m := alone.FindStringSubmatch(s.commands); m != nil {
		function = m[1]
	}
	if function == "chat" {
		input = ""
		for line := range strings.Lines(s.prints) {
			if typed, ok := strings.CutPrefix(line, ">>> "); ok {
				input += typed
			}
		}
	}
	return fmt.Sprintf("%s %s <<'END OF STEP'\n%sEND OF STEP\n", function, s.at, input)
}

// check returns an error unless a terminal shows the lines that the page does, in their order. Other text
// may be between them, a number other than 0 is as good as any, and a terminal may break a line.
func (s step) check(terminal string) error {
	shown := " " + loose(screen(terminal)) + " "
	for line := range strings.Lines(s.prints) {
		_, after, ok := strings.Cut(shown, " "+loose(line)+" ")
		if !ok {
			return fmt.Errorf("%s: the page says that %q prints %q", s.at, strings.TrimSpace(s.commands), strings.TrimSpace(line))
		}
		shown = " " + after
	}
	return nil
}

var (
	number = regexp.MustCompile(`[0-9][0-9,.]*[0-9]|[1-9]`)
	escape = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)
	redraw = regexp.MustCompile(`(?m)^.*\r`)
)

// loose returns a text with 1 for its numbers and one space for several, and for newlines.
func loose(text string) string {
	return strings.Join(strings.Fields(number.ReplaceAllString(text, "1")), " ")
}

// screen returns the lines that are left on a terminal after what was printed: without escapes, and
// without what was drawn over.
func screen(printed string) string {
	printed = strings.ReplaceAll(escape.ReplaceAllString(printed, ""), "\r\n", "\n")
	return redraw.ReplaceAllString(printed, "")
}
