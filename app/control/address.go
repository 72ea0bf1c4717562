package control

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// CheckHost returns an error for a name that no Host header can have.
func CheckHost(name string) error {
	if u, err := url.Parse("http://" + name); err != nil || u.Host != name || !oneHost(u) {
		return errors.New("write one name, such as models.example.org")
	}
	return nil
}

// CheckOrigin returns an error for a text that no Origin header can have.
func CheckOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || !oneHost(u) ||
		origin != strings.ToLower(u.Scheme+"://"+u.Host) {
		return errors.New("write it as browsers do: scheme://host[:port] in lower case, without a slash at the end")
	}
	switch u.Scheme + ":" + u.Port() {
	case "http:80", "https:443":
		return fmt.Errorf("write it as browsers do: without :%s, the port of every %s",
			u.Port(), u.Scheme)
	}
	return nil
}

// oneHost reports whether a URL names one host, with or without a port.
func oneHost(u *url.URL) bool {
	return u.Hostname() != "" && !strings.ContainsAny(u.Host, "*,") &&
		!strings.HasSuffix(u.Host, ":")
}
