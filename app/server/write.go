package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"
)

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_ = writeWhole(w, http.StatusOK, b) // the client left
	return nil
}

// patiently answers by write and sees that it arrives, which may take the
// client as long as patience lasts.
func patiently(w http.ResponseWriter, write func() error) error {
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(readerPatience))
	// The connection's next answer must not inherit this one's deadline.
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	err := write()
	return writeError(errors.Join(err, rc.Flush()))
}

// writeWhole sends a body whose Content-Type is set.
func writeWhole(w http.ResponseWriter, status int, b []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	return patiently(w, func() error {
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
		return errSlowReader
	}
	return errClientGone
}
