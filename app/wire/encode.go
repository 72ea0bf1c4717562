package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// An Encoder writes answers as JSON into a buffer that it uses again. Unlike MustJSON it leaves <, >
// and & as they are, and a Raw in its spelling. The zero Encoder is ready.
type Encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

// Encode returns v as JSON, valid until the next call. v holds only types that always encode.
func (e *Encoder) Encode(v any) []byte {
	if e.json == nil {
		e.json = json.NewEncoder(&e.buf)
		e.json.SetEscapeHTML(false)
	}
	e.buf.Reset()
	if err := e.json.Encode(v); err != nil {
		panic(err)
	}
	return unpackRaws(bytes.TrimSuffix(e.buf.Bytes(), []byte("\n")))
}

// Encode returns v as an Encoder writes it.
func Encode(v any) []byte { return new(Encoder).Encode(v) }

// Marshal returns v for a method MarshalJSON of a type that has one of several others.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return buf.Bytes(), err
}

// A Raw is a value in the spelling of a client or of a model. Only an Encoder writes it, and keeps the
// spelling: a client may send it back, and a prompt that differs by a space is another prompt.
type Raw json.RawMessage

// A RawObject is a Raw that is an object.
type RawObject Raw

// packedRaw begins a string that is a packed Raw. No valid UTF-8 has the byte 0xff, and bodies that
// are not UTF-8 are refused.
const packedRaw = "\"\xff"

// MarshalJSON implements json.Marshaler. It packs the value into a string, in which the package json
// removes no space.
func (r Raw) MarshalJSON() ([]byte, error) {
	if r == nil {
		return []byte("null"), nil
	}
	return append([]byte(packedRaw), AppendString(nil, string(r))[1:]...), nil
}

// Shape describes the value to AnswerOf.
func (Raw) Shape() *Shape { return Anything }

func (o RawObject) MarshalJSON() ([]byte, error) { return Raw(o).MarshalJSON() }

// Shape describes the object to AnswerOf.
func (RawObject) Shape() *Shape { return AnyObject }

// unpackRaws returns b with each packed Raw in its spelling.
func unpackRaws(b []byte) []byte {
	before, rest, found := bytes.Cut(b, []byte(packedRaw))
	if !found {
		return b
	}
	out := slices.Clone(before)
	for found {
		end := 0
		for ; rest[end] != '"'; end++ {
			if rest[end] == '\\' {
				end++
			}
		}
		raw, err := unquote(slices.Concat([]byte{'"'}, rest[:end+1]))
		if err != nil {
			panic(err)
		}
		out = append(out, raw...)
		before, rest, found = bytes.Cut(rest[end+1:], []byte(packedRaw))
		out = append(out, before...)
	}
	return out
}

// noChance is a log-probability of minus infinity in OpenAI's API.
const noChance = -9999

// A Logprob is a log-probability. It is noChance where JSON has no such number.
type Logprob float32

func (x Logprob) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(x), 0) || x != x || x < noChance {
		x = noChance
	}
	return strconv.AppendFloat(nil, float64(x), 'g', -1, 32), nil
}

// Shape describes the number to AnswerOf.
func (Logprob) Shape() *Shape { return Number }

// Floats are written with the shortest numbers that give the same float32.
type Floats []float32

func (list Floats) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return append(b, ']'), nil
}

// Shape describes the list to AnswerOf.
func (Floats) Shape() *Shape { return List(Number) }

// Bytes are written as a list of numbers.
type Bytes []byte

func (list Bytes) MarshalJSON() ([]byte, error) { return AppendInts(nil, list), nil }

// Shape describes the list to AnswerOf.
func (Bytes) Shape() *Shape { return List(Int(0, 255)) }
