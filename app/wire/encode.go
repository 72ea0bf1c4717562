package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// An Encoder writes values as JSON into a buffer that it uses again. Unlike MustJSON it leaves <, >
// and & as they are. The zero Encoder is ready.
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
	return bytes.TrimSuffix(e.buf.Bytes(), []byte("\n"))
}

// Encode returns v as an Encoder writes it.
func Encode(v any) []byte { return new(Encoder).Encode(v) }

// A RawObject is an object in somebody else's spelling.
type RawObject json.RawMessage

// MarshalJSON implements json.Marshaler.
func (o RawObject) MarshalJSON() ([]byte, error) { return o, nil }

// Shape describes the object to AnswerOf.
func (RawObject) Shape() *Shape { return AnyObject }

// noChance is a log-probability of minus infinity in OpenAI's API.
const noChance = -9999

// A Logprob is a log-probability. It is noChance where JSON has no such number.
type Logprob float32

// MarshalJSON implements json.Marshaler.
func (x Logprob) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(x), 0) || x != x || x < noChance {
		x = noChance
	}
	return strconv.AppendFloat(nil, float64(x), 'g', -1, 32), nil
}

// Shape describes the number to AnswerOf.
func (Logprob) Shape() *Shape { return Real }

// Floats are written with the shortest numbers that give the same float32.
type Floats []float32

// MarshalJSON implements json.Marshaler.
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
func (Floats) Shape() *Shape { return List(Real) }

// Bytes are written as a list of numbers.
type Bytes []byte

// MarshalJSON implements json.Marshaler.
func (list Bytes) MarshalJSON() ([]byte, error) { return AppendInts(nil, list), nil }

// Shape describes the list to AnswerOf.
func (Bytes) Shape() *Shape { return List(Int(0, 255)) }
