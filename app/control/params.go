package control

import (
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// params are the parameters of one request: the wildcards of its path, and its query. The inputs of
// routes pass their fields to its methods. Each method reads the field on the server, and writes it
// on the client.
type params struct {
	from      *http.Request // nil on the client
	values    url.Values    // the query
	wildcards []string      // pairs of a wildcard and its value, for strings.NewReplacer
	err       error         // the first parameter that is invalid
}

// url returns the path of a pattern, and the query.
func (p *params) url(pattern string) string {
	u := url.URL{Path: strings.NewReplacer(p.wildcards...).Replace(pattern),
		RawQuery: p.values.Encode()}
	return u.String()
}

// fail records an error, unless there is one.
func (p *params) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// invalid fails because of a parameter of the query.
func (p *params) invalid(name, format string, args ...any) {
	e := Errorf(CodeInvalid, format, args...)
	e.Param = name
	p.fail(e)
}

// path passes a wildcard of the path.
func (p *params) path(name string, v *string) {
	if p.from != nil {
		*v = p.from.PathValue(name)
		return
	}
	p.wildcards = append(p.wildcards, "{"+name+"}", *v, "{"+name+"...}", *v)
}

// pathID passes a wildcard that is a number. unknown is the format of the error for another text.
func (p *params) pathID(name string, v *int64, min int64, code Code, unknown string) {
	text := strconv.FormatInt(*v, 10)
	p.path(name, &text)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < min {
		p.fail(Errorf(code, unknown, Shorten(text, maxShown)))
	}
	*v = n
}

// query passes a string of the query. It is absent if it is empty.
func (p *params) query(name string, v *string) {
	if p.from != nil {
		*v = p.values.Get(name)
	} else if *v != "" {
		p.values.Set(name, *v)
	}
}

// flag passes a boolean of the query. It is absent unless it is true.
func (p *params) flag(name string, v *bool) {
	text := ""
	if *v {
		text = "true"
	}
	p.query(name, &text)
	*v = text == "true"
}

// queryNumber passes a number of the query, between 0 and limit. It is absent if it is 0.
func queryNumber[N int | int64](p *params, name string, v *N, limit int64) {
	text := ""
	if *v != 0 {
		text = strconv.FormatInt(int64(*v), 10)
	}
	p.query(name, &text)
	n, err := strconv.ParseInt(text, 10, 64)
	if text != "" && (err != nil || n < 0 || n > limit) {
		p.invalid(name, "%s must be a whole number between 0 and %d.", Word(name), limit)
	}
	*v = N(n)
}

// maxShown limits the text of a client in an error, in bytes.
const maxShown = 80

// Shorten cuts a string to at most that many bytes, and shows that by three dots after them.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := limit
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

func chatID(id *int64, p *params) {
	p.pathID("id", id, 1, CodeNoChat, "There is no chat %q.")
}

func runID(id *int64, p *params) {
	p.pathID("id", id, anyID, CodeRunNotFound, "%q is no run's id; a run's id is a number.")
}

func benchID(id *int64, p *params) {
	p.pathID("id", id, anyID, CodeNoBench, "%q is no bench's id; a bench's id is a number.")
}

func keyID(id *int64, p *params) {
	p.pathID("id", id, anyID, CodeKeyNotFound, "There is no key %s.")
}

// anyID is the least id where any number is looked up.
const anyID = -1 << 63

// textsOwner passes whose remembered texts are meant: the id of a key, or "none" for the clients
// without a key, which is 0.
func textsOwner(key *int64, p *params) {
	const none = "none"
	text := none
	if *key > 0 {
		text = strconv.FormatInt(*key, 10)
	}
	if p.path("id", &text); text == none {
		*key = 0
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		p.fail(Errorf(CodeKeyNotFound, "There is no key %s.", Shorten(text, maxShown)))
	case n <= 0:
		p.fail(Errorf(CodeKeyNotFound, "There is no key %d.", n))
	}
	*key = n
}

func nameInPath(name *string, p *params) { p.path("name", name) }

func idInPath(id *string, p *params) { p.path("id", id) }

// modelInPath passes a model's id, which may hold slashes, and anything else a folder's name may.
func modelInPath(id *string, p *params) {
	if p.from == nil && path.Clean("/"+*id) != "/"+*id { // the route would be another
		p.fail(NotInstalled(*id))
	}
	p.path("id", id)
}

// checkpointInPath passes the id or the name of a checkpoint. A name that no checkpoint can have
// leads to the route of none.
func checkpointInPath(name *string, p *params) {
	if p.from == nil && (strings.Trim(*name, ".") == "" || strings.ContainsAny(*name, "/\\")) {
		*name = "-"
	}
	p.path("name", name)
}

func modelInQuery(id *string, p *params) { p.query("model", id) }

func neededModel(id *string, p *params) {
	if modelInQuery(id, p); *id == "" {
		p.invalid("model", "The field model is missing: name an installed model.")
	}
}

func minutesInQuery(minutes *int, p *params) {
	text := strconv.Itoa(*minutes)
	p.query("minutes", &text)
	n, err := strconv.Atoi(text)
	if err != nil || n < MinActivity || n > MaxActivity {
		p.invalid("minutes", "minutes must be a whole number between %d and %d.", MinActivity,
			MaxActivity)
	}
	*minutes = n
}

func sizesInQuery(ask *bool, p *params) { p.flag("sizes", ask) }
