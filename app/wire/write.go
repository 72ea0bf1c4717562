package wire

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"
)

// WriteJSON answers with v.
func WriteJSON(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_ = WriteWhole(w, http.StatusOK, b) // the client left
	return nil
}

// Patiently answers by write and sees that it arrives, which may take the
// client as long as patience lasts.
func Patiently(w http.ResponseWriter, write func() error) error {
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(ReaderPatience))
	// The connection's next answer must not inherit this one's deadline.
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	err := write()
	return writeError(errors.Join(err, rc.Flush()))
}

// WriteWhole sends a body whose Content-Type is set.
func WriteWhole(w http.ResponseWriter, status int, b []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	return Patiently(w, func() error {
		w.WriteHeader(status)
		_, err := w.Write(b)
		return err
	})
}

// writeError says what a failed write means.
func writeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrSlowReader
	}
	return ErrClientGone
}
