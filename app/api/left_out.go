package api

import (
	"regexp"
	"strconv"
	"strings"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
)

// LeaveOut notes what of the request the model does not get: things of some types. A type may be in the
// list more than once.
func (c *Conversation) LeaveOut(what string, types []string) {
	if list := ListTypes(types); list != "" {
		c.LeftOut = append(c.LeftOut, what+": "+list)
	}
}

// LeaveOutTypes notes items that the model does not get, by their types. theirs reports whether the vendor's
// servers write items of a type; the others are listed as of unknown types.
func (c *Conversation) LeaveOutTypes(things, vendor string, theirs func(string) bool, types []string) {
	var known, unknown []string
	for _, t := range types {
		if theirs(t) {
			known = append(known, t)
		} else {
			unknown = append(unknown, t)
		}
	}
	c.LeaveOut(things+" of "+vendor+"'s servers", known)
	c.LeaveOut(things+" of unknown types", unknown)
}

// maxListed limits a list of what was left out: clients make up types.
const maxListed = 16

// ListTypes lists types, each once.
func ListTypes(types []string) string {
	var each []string
	seen := map[string]bool{}
	for _, t := range types {
		if !seen[t] {
			each = append(each, typeName(t))
		}
		seen[t] = true
	}
	return joinListed(each)
}

// joinListed joins a list, and counts those above the limit.
func joinListed(list []string) string {
	if n := len(list) - maxListed; n > 1 {
		list = append(list[:maxListed:maxListed], control.Grouped(n)+" more")
	}
	return strings.Join(list, ", ")
}

// plainType matches types as vendors write them.
var plainType = regexp.MustCompile(`^[A-Za-z][\w.:/-]{0,79}$`)

// typeName returns a type that a client may have made up, for people to read.
func typeName(kind string) string {
	if plainType.MatchString(kind) {
		return kind
	}
	return strconv.Quote(wire.Clip(kind))
}

// places name the messages of a role.
var places = map[string]string{"system": "system messages", "user": "user messages",
	"assistant": "answers", "tool": "tool results"}

// leaveOutParts notes the parts of messages that the model cannot read.
func (c *Conversation) leaveOutParts() {
	type part struct{ kind, role string }
	counts, order := map[part]int{}, []part{}
	for _, m := range c.Messages {
		if m.omitted == nil {
			continue
		}
		for _, kind := range m.omitted.Kinds {
			p := part{kind, m.Role}
			if counts[p]++; counts[p] == 1 {
				order = append(order, p)
			}
		}
	}
	var list []string
	for _, p := range order {
		n, what := counts[p], ""
		switch {
		case files[p.kind] == "":
			what = control.Plural(n, "part") + " of type " + typeName(p.kind)
		case p.kind == "audio":
			what = control.Plural(n, "audio part")
		default:
			what = control.Plural(n, p.kind)
		}
		list = append(list, what+" in "+places[p.role])
	}
	if list != nil {
		c.LeftOut = append(c.LeftOut, "what the model cannot read: "+joinListed(list))
	}
}

// leaveOutArguments notes the broken arguments of earlier calls if the template gets only their whole members.
func (c *Conversation) leaveOutArguments(m model.Model) {
	broken := 0
	for i := range c.Messages {
		broken += c.Messages[i].broken
	}
	if broken > 0 && !c.chat(m).History().AnyArguments {
		c.LeftOut = append(c.LeftOut, "what is no JSON object in the arguments of "+control.Plural(broken, "earlier call"))
	}
}
