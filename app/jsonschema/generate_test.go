package jsonschema

import "strings"

// choices are bytes that decide how a schema is made.
type choices struct{ rest string }

// next returns a number below n.
func (c *choices) next(n int) int {
	if c.rest == "" {
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return int(b) % n
}

func (c *choices) of(list ...string) string { return list[c.next(len(list))] }

// schema makes a schema of the keywords that clients use, most of them well formed.
func (c *choices) schema(level int) string {
	if level > 4 || c.rest == "" {
		return c.of("{}", "true", `{"type":"integer"}`, "false", `{"type":"null"}`)
	}
	var members []string
	for range 1 + c.next(4) {
		members = append(members, c.member(level+1))
	}
	if level == 0 {
		members = append(members, `"$defs":{"a":`+c.schema(1)+`,"b c~/%":`+c.schema(2)+`}`)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (c *choices) schemas(level int) string {
	var list []string
	for range c.next(4) {
		list = append(list, c.schema(level))
	}
	return strings.Join(list, ",")
}

func (c *choices) named(level int, names ...string) string {
	var list []string
	for range c.next(4) {
		list = append(list, c.of(names...)+":"+c.schema(level))
	}
	return "{" + strings.Join(list, ",") + "}"
}

func (c *choices) number() string {
	return c.of("0", "1", "-1", "2", "3", "5", "10", "-0", "0.1", "1.5", "0.07", "1e2", "1e400",
		"9007199254740993", "-9223372036854775808", "18446744073709551615", "1e17", "1e18",
		"1e-30", "0.30000000000000004", "123456789.123456789123", "5e-324", "1.7e308", `"5"`,
		"null", "true")
}

func (c *choices) pattern() string {
	return c.of(`"^a$"`, `"^(a|b)$"`, `"^a"`, `"^b"`, `""`, `".*"`, `"^.*$"`, `"^[^a]*$"`,
		`"(?!a)"`, `"^[ab]{1,3}$"`, `"[^\\s\\S]"`, `"^$"`, `"a|^b$"`, `"\\d+\\.\\w"`,
		`"^[\\w-.]+$"`, `"("`, `"^(?i:a)"`, `"\\bx"`, `"^[\\s\\S]*$"`, `"^\\u00e9$"`)
}

func (c *choices) member(level int) string {
	switch c.next(22) {
	case 0:
		return `"type":` + c.of(`"object"`, `"array"`, `"string"`, `"integer"`, `"number"`, `"null"`,
			`["string","null"]`, `["object","array","boolean"]`, `"any"`, `[]`, `"STRING"`, "null")
	case 1, 2:
		return `"properties":` + c.named(level, `"a"`, `"b"`, `"é"`, `"a\"\n"`, `"$ref"`, `""`)
	case 3:
		return `"patternProperties":{` + c.pattern() + ":" + c.schema(level) + "," + c.pattern() +
			":" + c.schema(level) + "}"
	case 4:
		return `"patternProperties":{` + c.pattern() + ":" + c.schema(level) + "}"
	case 5:
		return `"additionalProperties":` + c.of("false", "true", "null", c.schema(level))
	case 6:
		return `"required":` + c.of(`["a"]`, `["a","b"]`, `["z"]`, `[]`, "true", "null", `[1]`)
	case 7:
		return `"` + c.of("minProperties", "maxProperties", "minItems", "maxItems", "minLength",
			"maxLength") + `":` + c.number()
	case 8:
		return `"` + c.of("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
			"multipleOf") + `":` + c.number()
	case 9:
		return `"const":` + c.of(c.number(), `"a"`, `{"a":`+c.number()+`}`, `[`+c.number()+`]`)
	case 10:
		return `"enum":[` + c.of(c.number()+","+c.number(), `"a","b"`, "", `null,{"a":1}`) + `]`
	case 11, 12:
		return `"anyOf":[` + c.schemas(level) + `]`
	case 13:
		return `"oneOf":[` + c.schemas(level) + `]`
	case 14:
		return `"allOf":[` + c.schemas(level) + `]`
	case 15:
		return `"items":` + c.of(c.schema(level), "["+c.schemas(level)+"]", "null", "false")
	case 16:
		return `"prefixItems":[` + c.schemas(level) + `]`
	case 17, 18:
		return `"$ref":` + c.of(`"#"`, `"#/$defs/a"`, `"#/$defs/b%20c~0~1%25"`, `"#/nowhere"`,
			`"#x"`, "null", `"http://a.b/c"`)
	case 19:
		return `"pattern":` + c.pattern()
	case 20:
		return `"format":` + c.of(`"date"`, `"email"`, `"int32"`, "null", `"uuid"`)
	}
	return c.of(`"not":{}`, `"uniqueItems":true`, `"$anchor":"x"`, `"default":1e999`, `"if":{}`,
		`"nullable":true`, `"description":"x"`, `"additionalItems":false`, `"contains":{}`)
}
