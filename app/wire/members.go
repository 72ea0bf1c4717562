package wire

import (
	"encoding/json"
	"slices"
)

// A Member is a name and its value in a JSON object.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Members are the members of a JSON object, in the order and the spelling in which they were written.
type Members []Member

// ReadMembers returns the members of an object.
func ReadMembers(object json.RawMessage) (list Members, err error) {
	err = EachMember(object, func(key string, value json.RawMessage) error {
		list = append(list, Member{key, value})
		return nil
	})
	return list, err
}

// Get returns the value of a member, or nil.
func (list Members) Get(key string) json.RawMessage {
	for _, m := range list {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// Without returns the members of other names.
func (list Members) Without(keys ...string) Members {
	return slices.DeleteFunc(slices.Clone(list),
		func(m Member) bool { return slices.Contains(keys, m.Key) })
}

// With returns the members with that value of one of them, in its place or at the end.
func (list Members) With(key string, value json.RawMessage) Members {
	at := slices.IndexFunc(list, func(m Member) bool { return m.Key == key })
	if list = slices.Clone(list); at < 0 {
		return append(list, Member{key, value})
	}
	list[at].Value = value
	return list
}

// JSON returns the object.
func (list Members) JSON() json.RawMessage {
	out := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = m.AppendTo(out)
	}
	return append(out, '}')
}

// AppendTo appends the member without a comma.
func (m Member) AppendTo(dst []byte) []byte {
	return append(append(AppendString(dst, m.Key), ':'), m.Value...)
}

// Quote returns s as JSON.
func Quote(s string) json.RawMessage { return AppendString(nil, s) }

// JoinValues returns a list of values, each in its spelling.
func JoinValues(values []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}
