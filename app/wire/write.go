package wire

import (
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"
)

// WriteJSON answers with v, as an Encoder writes it. Texts of errors in it are abridged.
func WriteJSON(w http.ResponseWriter, v any) error {
	_ = WriteAnswer(w, ClipErrors(Encode(v))) // an error here means that the client left
	return nil
}

// WriteAnswer answers with JSON that is encoded already. An error means that the client left.
func WriteAnswer(w http.ResponseWriter, b []byte) error {
	w.Header().Set("Content-Type", "application/json")
	return WriteWhole(w, http.StatusOK, b)
}

// Patiently calls write and flushes what it wrote. The client has ReaderPatience to read it.
func Patiently(w http.ResponseWriter, write func() error) error {
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(ReaderPatience))
	// The connection's next answer must not inherit this one's deadline.
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	err := write()
	return writeError(errors.Join(err, rc.Flush()))
}

// WriteWhole sends a body. The caller has set Content-Type.
func WriteWhole(w http.ResponseWriter, status int, b []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	return Patiently(w, func() error {
		w.WriteHeader(status)
		_, err := w.Write(b)
		return err
	})
}

// writeError returns why a write failed.
func writeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrSlowReader
	}
	return ErrClientGone
}
