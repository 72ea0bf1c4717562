package mac

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path"
	"strings"
)

// A signing is the way in which a bundle was signed.
type signing string

// The ways to sign.
const (
	adHoc      signing = "ad hoc"   // without a name
	byIdentity signing = "identity" // in a developer's name, so that it can be notarised
)

// A signature has the fields of a Mach-O file's signature that the validator compares.
type signature struct {
	identifier string
	flags      uint32
	stamped    bool // it has a server's timestamp
}

// Values of Apple's format, whose numbers are big endian.
const (
	superBlobMagic     = 0xfade0cc0
	codeDirectoryMagic = 0xfade0c02
	slotCodeDirectory  = 0
	slotCMS            = 0x10000

	flagAdHoc   = 0x2
	flagRuntime = 0x10000
)

// timestampToken is the object identifier 1.2.840.113549.1.9.16.2.14 in DER: the attribute that
// holds a timestamp.
var timestampToken = []byte{0x06, 0x0b, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x02,
	0x0e}

var errSignature = errors.New("its signature cannot be read")

// parseSignature reads the signature that LC_CODE_SIGNATURE points at. It checks no hash. codesign
// does that.
func parseSignature(data []byte) (*signature, error) {
	word := func(b []byte, at int) (uint32, bool) {
		if at < 0 || at > len(b)-4 {
			return 0, false
		}
		return binary.BigEndian.Uint32(b[at:]), true
	}
	magic, _ := word(data, 0)
	count, ok := word(data, 8)
	if magic != superBlobMagic || !ok {
		return nil, errSignature
	}
	var s *signature
	stamped := false
	for i := range int(min(count, 64)) {
		slot, _ := word(data, 12+8*i)
		at, ok := word(data, 16+8*i)
		if !ok || int64(at) > int64(len(data)) {
			return nil, errSignature
		}
		blob := data[at:]
		magic, _ := word(blob, 0)
		size, ok := word(blob, 4)
		if !ok || int64(size) > int64(len(blob)) {
			return nil, errSignature
		}
		blob = blob[:size]
		switch slot {
		case slotCodeDirectory:
			flags, _ := word(blob, 12)
			name, ok := word(blob, 20)
			if magic != codeDirectoryMagic || !ok || int64(name) > int64(len(blob)) {
				return nil, errSignature
			}
			identifier, _, _ := bytes.Cut(blob[name:], []byte{0})
			s = &signature{identifier: string(identifier), flags: flags}
		case slotCMS:
			stamped = bytes.Contains(blob, timestampToken)
		}
	}
	if s == nil {
		return nil, errSignature
	}
	s.stamped = stamped
	return s, nil
}

// identifierOf returns the name of a program or library of the bundle in its signature.
func identifierOf(name string) string {
	switch name {
	case faces[0]:
		return bundleID
	case faces[1]:
		return windowID
	}
	return bundleID + "." + strings.TrimSuffix(path.Base(name), ".dylib")
}

// signature compares the signature of a program or library with how the bundle was signed.
func (v *validation) signature(name string, s *signature, how signing) {
	if want := identifierOf(name); s.identifier != want {
		v.find("%s is signed as %s; it has to be %s", name, s.identifier, want)
	}
	hardened, anonymous := s.flags&flagRuntime != 0, s.flags&flagAdHoc != 0
	switch {
	case how == adHoc && (hardened || !anonymous):
		v.find("%s is signed with flags %#x; it has to be ad hoc, without the hardened runtime",
			name, s.flags)
	case how == byIdentity && (!hardened || anonymous):
		v.find("%s is signed with flags %#x; it has to be by an identity, with the hardened runtime",
			name, s.flags)
	case how == byIdentity && !s.stamped:
		v.find("the signature of %s has no timestamp", name)
	}
}
