package measure

import (
	"fmt"
	"slices"
	"strings"
)

// EqualLines counts the lines of each longest run that stands in two places, longest first.
//
// Empty lines, import blocks and tables do not count. [Tree.withoutTables] empties the tables and
// import blocks of Go files. A run ends with its file, and the two places do not overlap. Runs
// shorter than least are not listed.
func (t *Tree) EqualLines(least int) []Count {
	c := collectLines(t.files)
	var counts []Count
	first := map[string][]int{} // the starts of a window of least lines
	reported := map[[2]int]bool{}
	for j := 0; j+least <= len(c.ids); j++ {
		if c.ends[j] < j+least {
			continue
		}
		key := c.window(j, least)
		for _, i := range first[key] {
			if i+least > j || reported[[2]int{i - 1, j - 1}] {
				reported[[2]int{i, j}] = reported[[2]int{i - 1, j - 1}]
				continue
			}
			reported[[2]int{i, j}] = true
			n := c.run(i, j)
			counts = append(counts, Count{n, fmt.Sprintf("%s and %s", c.place(i), c.place(j))})
		}
		first[key] = append(first[key], j)
	}
	return largestFirst(counts)
}

// codeLines are the lines of all files, one after the other.
type codeLines struct {
	ids   []uint32 // equal lines have equal numbers
	ends  []int    // where the file of a line ends
	names []string
	lines []int // in the file, from 1
}

// collectLines numbers the lines. Documents are left out: they are read, not called.
func collectLines(files []*textFile) *codeLines {
	c := &codeLines{}
	known := map[string]uint32{}
	for _, f := range files {
		if strings.HasSuffix(f.name, ".md") {
			continue
		}
		start := len(c.ids)
		for n, line := range f.lines {
			if line == "" || isImport(f.name, line) {
				continue
			}
			id, ok := known[line]
			if !ok {
				id = uint32(len(known))
				known[line] = id
			}
			c.ids, c.names, c.lines = append(c.ids, id), append(c.names, f.name),
				append(c.lines, n+1)
		}
		c.ends = append(c.ends, slices.Repeat([]int{len(c.ids)}, len(c.ids)-start)...)
	}
	return c
}

// isImport reports whether a line of another language than Go imports something.
func isImport(name, line string) bool {
	if strings.HasSuffix(name, ".go") {
		return false
	}
	return strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "from ") ||
		strings.HasPrefix(line, "use ") || strings.HasPrefix(line, "#include ")
}

// window returns a key that n equal lines from i on share.
func (c *codeLines) window(i, n int) string {
	key := make([]byte, 0, 4*n)
	for _, id := range c.ids[i : i+n] {
		key = append(key, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
	}
	return string(key)
}

// run counts the equal lines from i and j on. i is smaller than j.
func (c *codeLines) run(i, j int) int {
	n := 0
	for i+n < min(c.ends[i], j) && j+n < c.ends[j] && c.ids[i+n] == c.ids[j+n] {
		n++
	}
	return n
}

func (c *codeLines) place(i int) string { return fmt.Sprintf("%s:%d", c.names[i], c.lines[i]) }
