package wire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"

	"tandem/app/control"
)

// maxWindow is the window that a body in zstd may need, in bytes, as RFC 9659 has it.
const maxWindow = 8 << 20

// unpackers read the encodings of a body.
var unpackers = map[string]func(packed []byte) (io.ReadCloser, error){
	"gzip":    unpackGzip,
	"x-gzip":  unpackGzip,
	"deflate": unpackDeflate,
	"zstd":    unpackZstd,
}

func unpackGzip(packed []byte) (io.ReadCloser, error) {
	return gzip.NewReader(bytes.NewReader(packed))
}

// unpackDeflate reads zlib's format, which HTTP calls deflate. Some clients leave out its frame.
func unpackDeflate(packed []byte) (io.ReadCloser, error) {
	from := bytes.NewReader(packed)
	if r, err := zlib.NewReader(from); err == nil {
		return r, nil
	}
	from.Reset(packed)
	return flate.NewReader(from), nil
}

func unpackZstd(packed []byte) (io.ReadCloser, error) {
	r, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecodeBuffersBelow(0))
	if err != nil {
		return nil, err
	}
	return r.IOReadCloser(), nil
}

// encodingOf returns the encoding of a body, or an empty string for none.
func encodingOf(h http.Header) string {
	e := strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding")))
	if e == "identity" {
		return ""
	}
	return e
}

// Unpack returns the body that was packed as the headers say, of at most MaxBody. Its bytes take the
// place of the packed ones in the reservation.
func (x *Exchange) Unpack(h http.Header, packed []byte, p *Reservation) ([]byte, error) {
	encoding := encodingOf(h)
	if encoding == "" {
		return packed, nil
	}
	x.unpacking <- struct{}{} // a window of zstd takes memory beside
	defer func() { <-x.unpacking }()
	before := p.bytes
	r, err := unpackers[encoding](packed)
	if err != nil {
		return nil, unpackError(encoding, err)
	}
	defer r.Close()
	b, err := x.readGrowing(r, -1, p)
	switch _, full := errors.AsType[*control.Error](err); {
	case full:
		return nil, err
	case err != nil:
		return nil, unpackError(encoding, err)
	case len(b) > MaxBody:
		return nil, errTooLarge
	}
	x.large.shrink(p, before)
	return b, nil
}

func unpackError(encoding string, err error) error {
	return control.Plain(control.CodeInvalid, "The body cannot be unpacked as "+encoding+
		", which Content-Encoding declares; send it whole, or unpacked.").Because(err)
}
