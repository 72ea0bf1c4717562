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

	count func(*Tree) []Count
}

const (
	mostFiles   = 55
	mostMethods = 15

	// leastRun is the shortest run of equal lines that is reported.
	leastRun = 10
)

// limits is the one place for all limits.
var limits = []Limit{
	{"files of package app", 20, func(t *Tree) []Count { return []Count{t.filesOf("app")} }},
	{"lines of package app", 2500, func(t *Tree) []Count { return []Count{t.linesOf("app")} }},
	{"files of a package", mostFiles, (*Tree).PackageFiles},
	{"methods of an interface", mostMethods, (*Tree).Interfaces},
	{"files of an app package that reach each other", 20, func(t *Tree) []Count { return t.knots }},
	{"lines of a function", 80, (*Tree).shortFunctions},
	{"lines of README.md", 200, func(t *Tree) []Count { return []Count{t.documentLines("README.md")} }},
	{"words of a sentence in a doc.go or README.md", 30, (*Tree).Sentences},
	{"equal lines in two places", 25, func(t *Tree) []Count { return t.EqualLines(leastRun) }},
}

// longFunctions are the functions that may be longer than the limit, each with its reason. There
// are at most four.
var longFunctions = map[string]string{}

// shortFunctions returns the counts of all functions that are not in longFunctions.
func (t *Tree) shortFunctions() []Count {
	return slices.DeleteFunc(t.Functions(),
		func(c Count) bool { return longFunctions[c.Where] != "" })
}

// past returns the counts past the limit.
func (l Limit) past(counts []Count) []Count {
	var past []Count
	for _, c := range counts {
		if c.Value > l.Most {
			past = append(past, c)
		}
	}
	return past
}

// Sizes returns a sentence for each package with too many files and each interface with too many
// methods: the rules that the arch test shares with check.
func (t *Tree) Sizes() []string {
	var found []string
	for _, l := range limits {
		if l.Most != mostFiles && l.Most != mostMethods {
			continue
		}
		for _, c := range l.past(l.count(t)) {
			found = append(found, fmt.Sprintf("%s has %d %s, at most %d are allowed",
				c.Where, c.Value, unit(l.What), l.Most))
		}
	}
	return found
}

// unit returns the first word of a limit's text, which names what it counts.
func unit(what string) string {
	first, _, _ := strings.Cut(what, " ")
	return first
}

// shown is the number of places past a limit that the report names.
const shown = 5

// Report prints a line for each limit with the largest count, then the places past it. knots is
// what [Knots] returned. It returns an error that names each limit that was passed.
func (t *Tree) Report(w io.Writer, knots []Count) error {
	t.knots = knots
	var failures []string
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range limits {
		counts := l.count(t)
		past := l.past(counts)
		mark := "ok"
		if len(past) > 0 {
			mark = "FAIL"
			failures = append(failures, fmt.Sprintf("%s: %s; at most %d", l.What, past[0], l.Most))
		}
		var largest Count
		if len(counts) > 0 {
			largest = counts[0]
		}
		fmt.Fprintf(table, "%s\t%d\tof %d\t%s\t%s\n", mark, largest.Value, l.Most, l.What,
			largest.Where)
		for i, c := range past {
			if i == 0 {
				continue // the line above names it
			}
			if i == shown {
				fmt.Fprintf(table, "\t\t\t\tand %d more\n", len(past)-i)
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
