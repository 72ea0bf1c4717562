package app

import (
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
	if name == "" || slices.Contains(n.here, name) || n.known(name) {
		return name
	}
	if _, _, err := hub.Parse(name); err == nil && strings.Contains(name, "/") {
		n.models = append(n.models, name, "models--"+strings.ReplaceAll(name, "/", "--"))
	}
	return unknownModel
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

// replace leaves the names out of a report wherever they are.
func (n *unknownNames) replace(report []byte) []byte {
	for _, list := range []struct {
		names []string
		by    string
	}{{n.models, unknownModel}, {n.hosts, "…"}} {
		slices.SortFunc(list.names, func(a, b string) int { return len(b) - len(a) }) // one may hold another
		for _, name := range slices.Compact(list.names) {
			whole := regexp.MustCompile(`([^\\\w.-])` + regexp.QuoteMeta(name) + `\b`)
			report = whole.ReplaceAll(report, []byte("${1}"+list.by))
		}
	}
	return report
}
