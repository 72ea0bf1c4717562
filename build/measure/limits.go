package measure

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// A Limit holds one number of the tree to a maximum.
type Limit struct {
	What string
	Most int

	// notYet are beginnings of places that may still be past the limit. check prints them and passes.
	// With none the limit holds in every place.
	notYet []string

	count func(*Tree) []Count
}

const (
	mostFiles   = 55
	mostMethods = 15

	// leastRun is the shortest run of equal lines that is reported.
	leastRun = 10
)

// limits is the one place for all limits, and for what does not hold yet.
var limits = []Limit{
	{"files of package app", 20, nil, func(t *Tree) []Count { return []Count{t.filesOf("app")} }},
	{"lines of package app", 2500, nil, func(t *Tree) []Count { return []Count{t.linesOf("app")} }},
	{"files of a package", mostFiles, nil, (*Tree).PackageFiles},
	{"methods of an interface", mostMethods, nil, (*Tree).Interfaces},
	{"files of an app package that reach each other", 20, []string{"app/pool"}, func(t *Tree) []Count { return t.knots }},
	{"lines of a function", 80, nil, (*Tree).shortFunctions},
	{"lines of README.md", 200, nil, func(t *Tree) []Count { return []Count{t.documentLines("README.md")} }},
	{"words of a sentence in a doc.go or README.md", 30, nil, (*Tree).Sentences},
	{"equal lines in two places", 25, nil, func(t *Tree) []Count { return t.EqualLines(leastRun) }},
}

// longFunctions are the functions that may be longer than the limit, each with its reason. There are
// at most four.
var longFunctions = map[string]string{}

// shortFunctions are all functions but those of longFunctions.
func (t *Tree) shortFunctions() []Count {
	return slices.DeleteFunc(t.Functions(), func(c Count) bool { return longFunctions[c.Where] != "" })
}

// past returns the counts past the limit: those that fail, and those that do not hold yet.
func (l Limit) past(counts []Count) (failed, known []Count) {
	for _, c := range counts {
		switch {
		case c.Value <= l.Most:
		case slices.ContainsFunc(l.notYet, func(place string) bool { return strings.HasPrefix(c.Where, place) }):
			known = append(known, c)
		default:
			failed = append(failed, c)
		}
	}
	return failed, known
}

// Sizes returns a sentence for each package with too many files and each interface with too many
// methods: the rules that the arch test shares with check.
func (t *Tree) Sizes() []string {
	var found []string
	for _, l := range limits {
		if l.Most != mostFiles && l.Most != mostMethods {
			continue
		}
		failed, _ := l.past(l.count(t))
		for _, c := range failed {
			found = append(found, fmt.Sprintf("%s has %d %s, at most %d are allowed", c.Where, c.Value, unit(l.What), l.Most))
		}
	}
	return found
}

// unit is the first word of what a limit counts.
func unit(what string) string {
	first, _, _ := strings.Cut(what, " ")
	return first
}

// shown is how many places past a limit the report names.
const shown = 5

// Report prints a line for each limit with the largest count, then the places past it. knots is what
// [Knots] returned. It returns an error that names each limit that was passed and has to hold.
func (t *Tree) Report(w io.Writer, knots []Count) error {
	t.knots = knots
	var failures []string
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range limits {
		counts := l.count(t)
		failed, known := l.past(counts)
		mark := "ok"
		if len(known) > 0 {
			mark = "over"
		}
		if len(failed) > 0 {
			mark = "FAIL"
			failures = append(failures, fmt.Sprintf("%s: %s; at most %d", l.What, failed[0], l.Most))
		}
		var largest Count
		if len(counts) > 0 {
			largest = counts[0]
		}
		fmt.Fprintf(table, "%s\t%d\tof %d\t%s\t%s\n", mark, largest.Value, l.Most, l.What, largest.Where)
		over := append(failed, known...)
		for i, c := range over {
			if i == 0 {
				continue // stands in the line above
			}
			if i == shown {
				fmt.Fprintf(table, "\t\t\t\tand %d more\n", len(over)-i)
				break
			}
			fmt.Fprintf(table, "\t%d\t\t\t%s\n", c.Value, c.Where)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(failures) > 0 {
		return fmt.Errorf("past its limit:\n  %s", strings.Join(failures, "\n  "))
	}
	return nil
}
