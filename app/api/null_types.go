package api

import (
	"encoding/json"
	"slices"

	"tandem/app/wire"
)

// Keywords of a schema whose members have names of the schema's own, and those that hold values.
var (
	namedSchemas = []string{"properties", "patternProperties", "$defs", "definitions"}
	schemaValues = []string{"type", "enum", "const", "default", "examples"}
)

// withoutNull returns tools without the type null in their schemas, for templates that fail on it. What
// may be null is marked as nullable, as OpenAPI does.
func withoutNull(v json.RawMessage) json.RawMessage {
	if len(v) > 0 && v[0] == '[' {
		var list []json.RawMessage
		for item := range wire.EachValue(v) {
			list = append(list, withoutNull(item))
		}
		return wire.JoinValues(list)
	}
	members, err := wire.ReadMembers(v)
	if err != nil {
		return v
	}
	for i, m := range members {
		named, err := wire.ReadMembers(m.Value)
		switch {
		case slices.Contains(schemaValues, m.Key):
		case slices.Contains(namedSchemas, m.Key) && err == nil:
			for j := range named {
				named[j].Value = withoutNull(named[j].Value)
			}
			members[i].Value = named.JSON()
		default:
			members[i].Value = withoutNull(m.Value)
		}
	}
	var types []string
	switch kind := members.Get("type"); {
	case string(kind) == `"null"`:
	case json.Unmarshal(kind, &types) != nil || !slices.Contains(types, "null"):
		return members.JSON()
	}
	types = slices.DeleteFunc(types, func(name string) bool { return name == "null" })
	switch len(types) {
	case 0:
		members = members.Without("type")
	case 1:
		members = members.With("type", wire.Quote(types[0]))
	default:
		members = members.With("type", wire.MustJSON(types))
	}
	return members.With("nullable", json.RawMessage("true")).JSON()
}
