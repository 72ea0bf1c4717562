package hub

import (
	"cmp"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

const (
	maxNameLength     = 96 // of org/name, the hub's own limit
	maxRevisionLength = 256
	maxFileLength     = 512
)

// Parse splits a model's name, "org/name" or "org/name@revision", at the @. The revision is a
// branch, a tag or a commit, and "main" if the name has none. Error: [Invalid].
func Parse(name string) (id, revision string, err error) {
	id, revision, found := strings.Cut(name, "@")
	if !found {
		revision = "main"
	}
	parts := strings.Split(id, "/")
	ok := len(parts) <= 2 && len(id) <= maxNameLength &&
		!strings.Contains(id, "--") && !strings.Contains(id, "..")
	for _, part := range parts {
		ok = ok && part != "" && strings.Trim(part, "-.") == part &&
			!strings.ContainsFunc(part, notWord)
	}
	if !ok {
		return "", "", errorf(Invalid, "", "%q is not the name of a model at the hub: "+
			"it looks like org/name, or org/name@revision", name)
	}
	odd := func(r rune) bool { return r != '/' && notWord(r) }
	if revision == "" || len(revision) > maxRevisionLength || revision == "." ||
		!filepath.IsLocal(revision) || path.Clean(revision) != revision ||
		strings.ContainsFunc(revision, odd) {
		return "", "", errorf(Invalid, "",
			"%q in %q is not a revision: it is a branch, a tag or a commit", revision, name)
	}
	return id, revision, nil
}

// FromPage returns the name of the model whose page an address is, at the public hub or at
// endpoint. The name has the revision that the page shows, unless that is main. Any other string is
// returned as it is.
func FromPage(address, endpoint string) string {
	hosts := []string{"huggingface.co", "www.huggingface.co", "hf.co"}
	host, _, _ := strings.Cut(address, "/")
	if slices.Contains(hosts, host) {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return address
	}
	base := ""
	if hub, err := url.Parse(cmp.Or(endpoint, DefaultEndpoint)); err == nil && hub.Host == u.Host {
		base = hub.EscapedPath()
	} else if !slices.Contains(hosts, u.Host) {
		return address
	}
	// A slash inside a revision is written %2F.
	parts := strings.Split(strings.Trim(strings.TrimPrefix(u.EscapedPath(), base), "/"), "/")
	for i, part := range parts {
		if parts[i], err = url.PathUnescape(part); err != nil {
			return address
		}
	}
	if len(parts) < 2 || slices.Contains([]string{"datasets", "spaces"}, parts[0]) {
		return address
	}
	name := parts[0] + "/" + parts[1]
	views := []string{"tree", "blob", "resolve", "commit"}
	if len(parts) > 3 && slices.Contains(views, parts[2]) && parts[3] != "main" {
		name += "@" + parts[3]
	}
	return name
}

// ParsePull splits the name of a model to be pulled, as [Parse] does. The name may ask for a
// quantization, see [CutQuantization], which is left out. It refuses a name without an organization.
// Error: [Invalid].
func ParsePull(name string) (id, revision string, err error) {
	whole := name
	name, quantization := CutQuantization(name)
	if err := checkQuantization(whole, quantization); err != nil {
		return "", "", err
	}
	if id, revision, err = Parse(name); err == nil && !strings.Contains(id, "/") {
		return "", "", errorf(Invalid, "", "which %q? Write it as ORG/NAME, for example Qwen/Qwen3-8B", name)
	}
	return id, revision, err
}

// notWord reports whether a name or a revision must not contain r.
func notWord(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		strings.ContainsRune("-_.", r))
}

// isCommit reports whether s is a full commit hash.
func isCommit(s string) bool { return isHex(s, 40) }

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// safeFile reports whether a path stays inside the folder that it is relative to, on any system.
func safeFile(name string) bool {
	return len(name) <= maxFileLength && name != "." &&
		filepath.IsLocal(name) && path.Clean(name) == name &&
		!strings.ContainsAny(name, `\:`) && !strings.ContainsFunc(name, unicode.IsControl)
}

// wanted reports whether a model needs a file. Weights count at the top only: folders hold them in
// other formats.
func wanted(name string) bool {
	switch path.Ext(name) {
	case ".json", ".jinja", ".model", ".txt":
		return true
	case ".safetensors":
		return !strings.Contains(name, "/")
	}
	return false
}
