package app

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
)

// TestPortErrors: only a port that is in use is told as taken.
func TestPortErrors(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	port := other.Addr().(*net.TCPAddr).Port
	_, err = listenPort(port)
	e, ok := errors.AsType[*portTakenError](err)
	if !ok || e.port != port || !strings.Contains(e.Error(), fmt.Sprintf("port %d is taken", port)) {
		t.Errorf("a port in use: %v", err)
	}

	const none = 70000 // refused before anybody is asked who has it
	_, err = listenPort(none)
	if _, ok := errors.AsType[*portTakenError](err); err == nil || ok || !strings.Contains(err.Error(), "port 70000 cannot be opened") {
		t.Errorf("a port that cannot be opened: %v", err)
	}
}

// TestOtherPort: the port that is proposed exists.
func TestOtherPort(t *testing.T) {
	for port, want := range map[int]string{
		8263:  "--addr 127.0.0.1:8264",
		65534: "--addr 127.0.0.1:65535",
		65535: "--addr 127.0.0.1:0",
	} {
		if got := (&portTakenError{port: port}).Error(); !strings.HasSuffix(got, want) {
			t.Errorf("%d: %s, want %s", port, got, want)
		}
	}
}
