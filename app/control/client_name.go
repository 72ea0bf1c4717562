package control

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// clientsJSON are the programs whose User-Agent says something else than their name, for the window too.
// "begins" is a regular expression for its start, in any case; "is" is the whole of it. White on each colour
// has a contrast of at least 4.5:1.
//
//go:embed clients.json
var clientsJSON []byte

// A knownClient is a row of clientsJSON.
type knownClient struct {
	agent *regexp.Regexp
	name  string
}

// knownClients reads clientsJSON.
var knownClients = sync.OnceValue(func() (all []knownClient) {
	var rows []struct{ Begins, Is, Name string }
	if err := json.Unmarshal(clientsJSON, &rows); err != nil {
		panic(err) // it is part of the program
	}
	for _, row := range rows {
		pattern := "(?i)^(" + row.Begins + ")"
		if row.Is != "" {
			pattern = "^" + regexp.QuoteMeta(row.Is) + "$"
		}
		all = append(all, knownClient{regexp.MustCompile(pattern), row.Name})
	}
	return all
})

// CommandLineAgent is what the command line calls itself.
const CommandLineAgent = "tandem"

// ClientName returns the name of what calls itself agent. What is not known keeps its own name, up to
// its version.
func ClientName(agent string) string {
	return cmp.Or(KnownClient(agent), Program(agent), "Unnamed client")
}

// KnownClient returns the name of the program that calls itself agent, or "" if Tandem does not know
// it.
func KnownClient(agent string) string {
	for _, c := range knownClients() {
		if c.agent.MatchString(agent) {
			return c.name
		}
	}
	return ""
}

// Program returns what calls itself agent, without its version.
func Program(agent string) string {
	name, _, _ := strings.Cut(agent, "/")
	return name
}
