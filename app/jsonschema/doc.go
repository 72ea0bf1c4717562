// Package jsonschema turns the JSON schemas that clients send into forms that a grammar can
// express.
//
// Clients write schemas with many libraries. llguidance, which compiles grammars, reads a part of
// JSON Schema, and fails on the rest: early, late or silently. So [Compile] rewrites each schema,
// in the part that llguidance follows exactly:
//
//   - References of every kind become references to $defs. A fragment is percent-decoded first, and
//     then read as a JSON Pointer or as an anchor.
//   - Regular expressions are read as ECMAScript and written in a form that Go and Rust share.
//   - Numbers keep their own digits. Where llguidance would round one, the form is a set of Lark
//     rules. A bound that it would round moves inwards.
//   - A schema with properties and without a type is an object's.
//   - oneOf becomes anyOf where no value fits two alternatives.
//   - A pattern of names that matches few names becomes properties with these names.
//   - A schema that no finite value satisfies becomes false.
//
// # What is not supported
//
// A strict schema is refused with an [Error], which has the path in the schema and says what to
// change. Otherwise the keyword is left out, as if the schema did not have it. Three faults are
// refused in both cases: a schema that no value satisfies, a number whose digits would be lost, and
// a schema that is too large.
package jsonschema
