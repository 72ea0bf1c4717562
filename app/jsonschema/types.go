package jsonschema

// types are a set of types, a bit for each. Integers are numbers.
type types uint8

const (
	objectBit types = 1 << iota
	listBit
	textBit
	numberBit
	boolBit
	nullBit

	anyBits = objectBit | listBit | textBit | numberBit | boolBit | nullBit
)

var typeBits = map[string]types{
	"object": objectBit, "array": listBit, "string": textBit, "number": numberBit,
	"integer": numberBit, "boolean": boolBit, "null": nullBit,
}

var kindBits = map[kind]types{
	object: objectBit, list: listBit, text: textBit, number: numberBit, trueKind: boolBit,
	falseKind: boolBit, null: nullBit,
}

// maxTyped bounds the schemas whose types are computed. References multiply schemas.
const maxTyped = 1_000_000

// typesOf returns the types of the values that may fit a schema. Beyond maxTyped it returns all
// types.
func (t *tree) typesOf(s *value, level int) types {
	t.typed++
	switch {
	case s.kind == falseKind:
		return 0
	case s.kind == trueKind || level > 8 || t.typed > maxTyped: // references may lead in a circle
		return anyBits
	}
	set := ownTypes(s)
	if ref := s.get("$ref"); ref != nil {
		to, _ := t.target(ref.text)
		set &= t.typesOf(to, level+1)
	}
	if v := s.get("allOf"); v != nil {
		for _, x := range v.list {
			set &= t.typesOf(x, level+1)
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		v := s.get(key)
		if v == nil {
			continue
		}
		var any types
		for _, x := range v.list {
			if any |= t.typesOf(x, level+1); any&set == set {
				break
			}
		}
		set &= any
	}
	return set
}

// ownTypes returns the types that a schema itself names.
func ownTypes(s *value) (set types) {
	if values := valuesOf(s); values != nil {
		for _, v := range values {
			set |= kindBits[v.kind]
		}
		return set
	}
	v := s.get("type")
	switch {
	case v == nil:
		return anyBits
	case v.kind == text:
		return typeBits[v.text]
	}
	for _, x := range v.list {
		set |= typeBits[x.text]
	}
	return set
}
