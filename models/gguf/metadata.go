package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// metadata holds the entries of a header by key: bool, int64, uint64, float64, string, or an array
// of them, []int64 or []float64 or []string.
type metadata map[string]any

// Types of values, as the format numbers them.
const (
	typeUint8 = iota
	typeInt8
	typeUint16
	typeInt16
	typeUint32
	typeInt32
	typeFloat32
	typeBool
	typeString
	typeArray
	typeUint64
	typeInt64
	typeFloat64
)

// sizes holds the bytes of a number of each type.
var sizes = map[uint32]int64{
	typeUint8: 1, typeInt8: 1, typeUint16: 2, typeInt16: 2, typeUint32: 4, typeInt32: 4,
	typeFloat32: 4, typeBool: 1, typeUint64: 8, typeInt64: 8, typeFloat64: 8,
}

// entry reads one entry into m.
func (in *reader) entry(m metadata) error {
	key, err := in.name()
	if err != nil {
		return err
	}
	if _, twice := m[key]; twice {
		return damaged("it has the key %q twice", key)
	}
	kind, err := in.uint32()
	if err != nil {
		return err
	}
	switch kind {
	case typeArray:
		m[key], err = in.array(key)
	case typeString:
		m[key], err = in.readString(maxString)
	default:
		m[key], err = in.number(key, kind)
	}
	return err
}

// number reads one value that is not a string.
func (in *reader) number(key string, kind uint32) (any, error) {
	n := sizes[kind]
	if n == 0 {
		return nil, damaged("%s is of the unknown type %d", key, kind)
	}
	b, err := in.readBytes(n)
	if err != nil {
		return nil, err
	}
	switch kind {
	case typeBool:
		return b[0] != 0, nil
	case typeFloat32, typeFloat64:
		return float(kind, b), nil
	}
	return integer(kind, b), nil
}

// integer decodes an integer. One above the range of int64 becomes the largest int64.
func integer(kind uint32, b []byte) int64 {
	switch kind {
	case typeInt8:
		return int64(int8(b[0]))
	case typeUint16:
		return int64(binary.LittleEndian.Uint16(b))
	case typeInt16:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case typeUint32:
		return int64(binary.LittleEndian.Uint32(b))
	case typeInt32:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case typeUint64:
		return int64(min(binary.LittleEndian.Uint64(b), math.MaxInt64))
	case typeInt64:
		return int64(binary.LittleEndian.Uint64(b))
	}
	return int64(b[0]) // uint8 and bool
}

func float(kind uint32, b []byte) float64 {
	if kind == typeFloat64 {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
}

// array reads an array. Arrays of arrays are refused: no key that is read here needs them.
func (in *reader) array(key string) (any, error) {
	kind, err := in.uint32()
	if err != nil {
		return nil, err
	}
	size := sizes[kind]
	if kind == typeString {
		size = 8
	}
	if size == 0 {
		return nil, damaged("%s is an array of the unknown type %d", key, kind)
	}
	n, err := in.count("elements of "+key, in.elements, size)
	if err != nil {
		return nil, err
	}
	in.elements -= uint64(n)
	if kind == typeString {
		texts := make([]string, n)
		for i := range texts {
			if texts[i], err = in.readString(maxString); err != nil {
				return nil, err
			}
		}
		return texts, nil
	}
	b, err := in.readBytes(n * size)
	if err != nil {
		return nil, err
	}
	if kind == typeFloat32 || kind == typeFloat64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = float(kind, b[int64(i)*size:])
		}
		return values, nil
	}
	values := make([]int64, n)
	for i := range values {
		values[i] = integer(kind, b[int64(i)*size:])
	}
	return values, nil
}

// abbreviated returns a value for a message: a whole number, the beginning of a string.
func abbreviated(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%.40q", v)
	case []string, []int64, []float64:
		return "an array"
	}
	return fmt.Sprint(v)
}

// check refuses the entries of some keys whose type is not T. what names T.
func check[T any](m metadata, what string, keys ...string) error {
	for _, key := range keys {
		if v, ok := m[key]; ok {
			if _, is := v.(T); !is {
				return fmt.Errorf("%s is %s, and must be %s", key, abbreviated(v), what)
			}
		}
	}
	return nil
}

// uint returns an integer from 0 to most, or fallback without such a key.
func (m metadata) uint(key string, fallback, limit int) (int, error) {
	v, ok := m[key]
	if !ok {
		return fallback, nil
	}
	n, ok := v.(int64)
	if !ok || n < 0 || n > int64(limit) {
		return 0, fmt.Errorf("%s is %s, which is no whole number from 0 to %d", key, abbreviated(v), limit)
	}
	return int(n), nil
}

// string returns the string of a key, or "".
func (m metadata) string(key string) string {
	s, _ := m[key].(string)
	return s
}

// strings returns the strings of a key, or nil.
func (m metadata) strings(key string) []string {
	s, _ := m[key].([]string)
	return s
}

// ints returns the integers of a key, or nil.
func (m metadata) ints(key string) []int64 {
	s, _ := m[key].([]int64)
	return s
}

// id returns the token id of a key, or -1.
func (m metadata) id(key string) int {
	n, ok := m[key].(int64)
	if !ok || n < 0 || n > math.MaxInt32 {
		return -1
	}
	return int(n)
}
