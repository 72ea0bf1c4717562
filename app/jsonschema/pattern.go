package jsonschema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A pattern is a regular expression of ECMAScript. Greediness is ignored, because only whole
// strings matter.
type pattern struct {
	op       op
	parts    []*pattern
	set      set // opSet
	min, max int // opRepeat; max is unbounded for no bound
}

type op int

const (
	opSet op = iota // one character
	opSequence
	opChoice
	opRepeat
	opStart // ^
	opEnd   // $
)

const (
	unbounded     = -1
	maxRepeat     = 1 << 30
	maxGroupDepth = 100     // of groups within groups
	maxPattern    = 1 << 16 // bytes of a pattern
)

// readPattern reads a pattern. It returns an error for what no grammar can express.
func readPattern(source string) (*pattern, error) {
	if len(source) > maxPattern {
		return nil, fmt.Errorf("it has more than %d bytes", maxPattern)
	}
	r := patternReader{rest: source}
	for _, flags := range []string{"(?i)", "(?s)", "(?is)", "(?si)", "(?u)"} { // Python's
		if rest, ok := strings.CutPrefix(r.rest, flags); ok {
			r.rest = rest
			r.fold, r.dotAll = strings.Contains(flags, "i"), strings.Contains(flags, "s")
			break
		}
	}
	p, err := r.choice(0)
	if err == nil && r.rest != "" {
		err = errors.New("it has a ) without a (")
	}
	if err == nil && !p.anchorsAtEnds(true, true) {
		err = errors.New("^ must be at the beginning and $ at the end")
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// anchorsAtEnds reports whether ^ and $ are only where a string may begin or end.
func (p *pattern) anchorsAtEnds(first, last bool) bool {
	switch p.op {
	case opStart:
		return first
	case opEnd:
		return last
	case opRepeat:
		first, last = false, false
	case opSequence:
		from, to := 0, len(p.parts)
		for from < to && p.parts[from].op == opStart {
			from++
		}
		for to > from && p.parts[to-1].op == opEnd {
			to--
		}
		for i, x := range p.parts {
			if !x.anchorsAtEnds(first && i <= from, last && i >= to-1) {
				return false
			}
		}
		return true
	}
	for _, x := range p.parts {
		if !x.anchorsAtEnds(first, last) {
			return false
		}
	}
	return true
}

// A patternReader reads a pattern from the left.
type patternReader struct {
	rest   string
	fold   bool // letters match both cases
	dotAll bool // the dot is any character
}

// take reports whether the rest begins with s, and then skips it.
func (r *patternReader) take(s string) (ok bool) {
	r.rest, ok = strings.CutPrefix(r.rest, s)
	return ok
}

// next returns the next character.
func (r *patternReader) next() rune {
	c, n := utf8.DecodeRuneInString(r.rest)
	r.rest = r.rest[n:]
	return c
}

func (r *patternReader) choice(level int) (*pattern, error) {
	if level > maxGroupDepth {
		return nil, errors.New("its groups nest too deeply")
	}
	p := &pattern{op: opChoice}
	for {
		x, err := r.sequence(level)
		if err != nil {
			return nil, err
		}
		p.parts = append(p.parts, x)
		if !r.take("|") {
			break
		}
	}
	if len(p.parts) == 1 {
		return p.parts[0], nil
	}
	return p, nil
}

func (r *patternReader) sequence(level int) (*pattern, error) {
	p := &pattern{op: opSequence}
	for r.rest != "" && r.rest[0] != '|' && r.rest[0] != ')' {
		x, err := r.atom(level)
		if err != nil {
			return nil, err
		}
		if x, err = r.repeated(x); err != nil {
			return nil, err
		}
		p.parts = append(p.parts, x)
	}
	if len(p.parts) == 1 {
		return p.parts[0], nil
	}
	return p, nil
}

func (r *patternReader) atom(level int) (*pattern, error) {
	switch c := r.next(); c {
	case '^':
		return &pattern{op: opStart}, nil
	case '$':
		return &pattern{op: opEnd}, nil
	case '.':
		if r.dotAll {
			return &pattern{op: opSet, set: set{}.negated()}, nil
		}
		return &pattern{op: opSet, set: newSet('\n', '\n').negated()}, nil
	case '[':
		s, err := r.class()
		return &pattern{op: opSet, set: s}, err
	case '(':
		return r.group(level)
	case '*', '+', '?':
		return nil, fmt.Errorf("there is nothing to repeat before %c", c)
	case '\\':
		return r.escape()
	default:
		return r.character(c), nil
	}
}

func (r *patternReader) character(c rune) *pattern {
	s := newSet(c, c)
	s.fold = r.fold
	return &pattern{op: opSet, set: s}
}

func (r *patternReader) group(level int) (*pattern, error) {
	switch {
	case r.take("?=") || r.take("?!"):
		return nil, errors.New("look-ahead, (?=...) or (?!...), is not supported")
	case r.take("?<=") || r.take("?<!"):
		return nil, errors.New("look-behind, (?<=...) or (?<!...), is not supported")
	case r.take("?:"):
	case r.take("?P<") || r.take("?<"):
		_, after, ok := strings.Cut(r.rest, ">")
		if !ok {
			return nil, errors.New("the name of a group has no end")
		}
		r.rest = after
	case strings.HasPrefix(r.rest, "?"):
		return nil, errors.New("it has an unknown kind of group after (?")
	}
	p, err := r.choice(level + 1)
	if err == nil && !r.take(")") {
		err = errors.New("a group has no closing )")
	}
	return p, err
}

// repeated reads the quantifier after an atom, if any.
func (r *patternReader) repeated(p *pattern) (*pattern, error) {
	lo, hi := 1, 1
	switch {
	case r.take("*"):
		lo, hi = 0, unbounded
	case r.take("+"):
		hi = unbounded
	case r.take("?"):
		lo = 0
	default:
		n, m, ok, err := r.braces()
		if err != nil || !ok {
			return p, err
		}
		lo, hi = n, m
	}
	r.take("?") // lazy
	if p.op == opStart || p.op == opEnd {
		return nil, errors.New("an anchor is repeated")
	}
	if r.rest != "" && strings.ContainsRune("*+?", rune(r.rest[0])) {
		return nil, errors.New("a quantifier follows another")
	}
	return &pattern{op: opRepeat, parts: []*pattern{p}, min: lo, max: hi}, nil
}

// braces reads {n}, {n,} or {n,m}. Other braces are characters.
func (r *patternReader) braces() (lo, hi int, ok bool, err error) {
	inner, after, found := strings.Cut(r.rest, "}")
	inner, open := strings.CutPrefix(inner, "{")
	if !found || !open {
		return 0, 0, false, nil
	}
	before, upper, comma := strings.Cut(inner, ",")
	isNumber := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if !isNumber(before) || comma && upper != "" && !isNumber(upper) {
		return 0, 0, false, nil
	}
	lo, err = strconv.Atoi(before)
	hi = lo
	switch {
	case comma && upper == "":
		hi = unbounded
	case comma && err == nil:
		hi, err = strconv.Atoi(upper)
	}
	if err != nil || lo > maxRepeat || hi > maxRepeat {
		return 0, 0, false, fmt.Errorf("{%s} repeats too often", inner)
	}
	if hi != unbounded && hi < lo {
		return 0, 0, false, fmt.Errorf("the bounds of {%s} are in the wrong order", inner)
	}
	r.rest = after
	return lo, hi, true, nil
}

// escape reads what follows a backslash outside a class.
func (r *patternReader) escape() (*pattern, error) {
	switch {
	case r.take("A"):
		return &pattern{op: opStart}, nil
	case r.take("Z") || r.take("z"):
		return &pattern{op: opEnd}, nil
	case strings.HasPrefix(r.rest, "b") || strings.HasPrefix(r.rest, "B"):
		return nil, errors.New(`no grammar can follow a word boundary, \b or \B`)
	case r.rest != "" && (r.rest[0] >= '1' && r.rest[0] <= '9' || r.rest[0] == 'k'):
		return nil, errors.New(`no grammar can follow a reference back to a group`)
	}
	s, err := r.escapedSet()
	if err != nil {
		return nil, err
	}
	if c, ok := s.single(); ok {
		return r.character(c), nil
	}
	return &pattern{op: opSet, set: s}, nil
}

// class reads a class up to its closing bracket.
func (r *patternReader) class() (set, error) {
	not := r.take("^")
	var all set
	for {
		if r.rest == "" {
			return set{}, errors.New("a character class has no closing ]")
		}
		if r.take("]") {
			break
		}
		from, err := r.classItem()
		if err != nil {
			return set{}, err
		}
		low, isFrom := from.single()
		if !isFrom || len(r.rest) < 2 || r.rest[0] != '-' || r.rest[1] == ']' {
			all = all.with(from)
			continue
		}
		r.take("-")
		to, err := r.classItem()
		if err != nil {
			return set{}, err
		}
		high, isTo := to.single()
		switch {
		case !isTo:
			all = all.with(from).with(newSet('-', '-')).with(to)
		case high < low:
			return set{}, fmt.Errorf("the range from %q to %q is in the wrong order", low, high)
		default:
			all = all.with(newSet(low, high))
		}
	}
	all.fold = r.fold
	if not {
		return all.negated(), nil
	}
	return all, nil
}

func (r *patternReader) classItem() (set, error) {
	c := r.next()
	if c != '\\' {
		return newSet(c, c), nil
	}
	if r.take("b") {
		return newSet('\b', '\b'), nil
	}
	return r.escapedSet()
}

// escapedSet reads an escaped character or class.
func (r *patternReader) escapedSet() (set, error) {
	if r.rest == "" {
		return set{}, errors.New("it ends with a backslash")
	}
	switch c := r.next(); c {
	case 'd':
		return digits, nil
	case 'D':
		return digits.negated(), nil
	case 'w':
		return wordCharacters, nil
	case 'W':
		return wordCharacters.negated(), nil
	case 's':
		return spaces, nil
	case 'S':
		return spaces.negated(), nil
	case 'p', 'P':
		return r.property(c)
	case 'x', 'u', 'c':
		return r.coded(c)
	case 't', 'n', 'v', 'f', 'r', '0', 'a':
		coded := rune("\t\n\v\f\r\x00\a"[strings.IndexRune("tnvfr0a", c)])
		return newSet(coded, coded), nil
	default:
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '1' && c <= '9' {
			return set{}, fmt.Errorf(`it has the unknown escape \%c`, c)
		}
		return newSet(c, c), nil
	}
}

// property reads a class by a Unicode property, such as {L} or {Script=Greek}.
func (r *patternReader) property(c rune) (set, error) {
	name := ""
	if r.take("{") {
		before, after, ok := strings.Cut(r.rest, "}")
		if !ok {
			return set{}, errors.New("the name of a property has no end")
		}
		name, r.rest = before, after
	} else if r.rest != "" {
		name = string(r.next())
	}
	for _, key := range []string{"Script=", "sc=", "General_Category=", "gc="} {
		name = strings.TrimPrefix(name, key)
	}
	if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") != "" {
		return set{}, fmt.Errorf("it has the unknown property %.40q", name)
	}
	return set{named: []string{fmt.Sprintf(`\%c{%s}`, c, name)}}, nil
}

// coded reads a character by its number, after \x, \u or \c.
func (r *patternReader) coded(c rune) (set, error) {
	bad := fmt.Errorf(`it has \%c without its number`, c)
	if c == 'c' {
		if r.rest == "" {
			return set{}, bad
		}
		x := r.next() % 32
		return newSet(x, x), nil
	}
	n := map[rune]int{'x': 2, 'u': 4}[c]
	code, err := uint64(0), error(nil)
	if r.take("{") {
		inner, after, ok := strings.Cut(r.rest, "}")
		if !ok {
			return set{}, bad
		}
		code, err = strconv.ParseUint(inner, 16, 32)
		r.rest = after
	} else {
		if len(r.rest) < n {
			return set{}, bad
		}
		code, err = strconv.ParseUint(r.rest[:n], 16, 32)
		r.rest = r.rest[n:]
	}
	x := rune(code)
	if utf16.IsSurrogate(x) && len(r.rest) >= 6 && r.take(`\u`) {
		low, e := strconv.ParseUint(r.rest[:4], 16, 32)
		if x = utf16.DecodeRune(x, rune(low)); e != nil || x == utf8.RuneError {
			return set{}, bad
		}
		r.rest = r.rest[4:]
	}
	if err != nil || !utf8.ValidRune(x) {
		return set{}, bad
	}
	return newSet(x, x), nil
}
