package app

import (
	"cmp"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tandem/models/hub"
)

// unknownModel stands for a name that a request or a download gave and that no model here or in the
// catalogue has: a client may write anything there.
const unknownModel = "a model that is not here"

// unknownNames are the names that a report leaves out: of unknown models, and of hosts in the settings. The
// log and errors may have them anywhere.
type unknownNames struct {
	here  []string                // models
	known func(model string) bool // others that may be named

	models []string // ORG/NAME, as met; other names may be any word
	hosts  []string
}

// ofModel returns what the report calls a model.
func (n *unknownNames) ofModel(name string) string {
	if name == "" || n.isKnown(name) {
		return name
	}
	if _, _, err := hub.Parse(name); err == nil && strings.Contains(name, "/") {
		n.models = append(n.models, name, cached+strings.ReplaceAll(name, "/", "--"), url.PathEscape(name))
	}
	return unknownModel
}

// cached begins the name of a model's folder in the cache, which has -- for each slash.
const cached = "models--"

// isKnown reports whether the report may name a model. name is its id, or its folder in the cache.
func (n *unknownNames) isKnown(name string) bool {
	if folder, ok := strings.CutPrefix(name, cached); ok {
		name = strings.ReplaceAll(folder, "--", "/")
	}
	return slices.Contains(n.here, name) || n.known(name)
}

// modelAttr is the model of a line of the log. The line may be cut within it.
var modelAttr = regexp.MustCompile(`\bmodel=("(?:[^"\\]|\\.)*"?|\S*)`)

// ofLine replaces the model of a line of the log.
func (n *unknownNames) ofLine(line string) string {
	return modelAttr.ReplaceAllStringFunc(line, func(attr string) string {
		name := strings.TrimPrefix(attr, "model=")
		if s, err := strconv.Unquote(name); err == nil {
			name = s
		}
		if n.ofModel(name) == name {
			return attr
		}
		return "model=" + strconv.Quote(unknownModel)
	})
}

// addHosts adds the hosts of addresses, but for the public hub's and this machine's.
func (n *unknownNames) addHosts(addresses ...string) {
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || address == hub.DefaultEndpoint {
			continue
		}
		host := u.Hostname()
		if ip := net.ParseIP(host); host != "" && host != "localhost" && !ip.IsLoopback() {
			n.hosts = append(n.hosts, host)
		}
	}
}

// before matches what may precede a name: the beginning, a character that no name has, or an escape of Go or
// JSON, whose letter does not belong to the name.
const before = `(^|[^\\\w.-]|\\(?:[abfnrtv]|x[[:xdigit:]]{2}|u[[:xdigit:]]{4}))`

// replace leaves the names out of a report wherever they are. What begins with one of them may be a model
// here or in the catalogue.
func (n *unknownNames) replace(report []byte) []byte {
	for _, name := range byLength(n.models) {
		whole := regexp.MustCompile(before + `(` + regexp.QuoteMeta(name) + `(?:[.-][\w.-]*\w)?\b)`)
		report = whole.ReplaceAllFunc(report, func(found []byte) []byte {
			at := whole.FindSubmatchIndex(found)[4]
			if n.isKnown(string(found[at:])) {
				return found
			}
			return append(slices.Clone(found[:at]), unknownModel...)
		})
	}
	for _, host := range byLength(n.hosts) {
		whole := regexp.MustCompile(`(?i)` + before + `(?:[\w-]+\.)*` + regexp.QuoteMeta(host) + `\b`)
		report = whole.ReplaceAll(report, []byte("${1}…"))
	}
	return report
}

// byLength returns names without duplicates, the longest first: one may hold another.
func byLength(names []string) []string {
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(names)
}
