package mac

import (
	"testing"
)

// TestSignatureIsReadAsWritten expects an error for one that is cut off.
func TestSignatureIsReadAsWritten(t *testing.T) {
	want := signature{"dev.tandem.Tandem.tandem", flagRuntime, true}
	blob := want.bytes()
	if got, err := parseSignature(blob); err != nil || *got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for n := range blob {
		if got, err := parseSignature(blob[:n]); err == nil {
			t.Fatalf("%d of %d bytes: %+v", n, len(blob), got)
		}
	}
}

// FuzzParseSignature expects that no signature makes the validator panic.
func FuzzParseSignature(f *testing.F) {
	f.Add(signature{"id", flagAdHoc, false}.bytes())
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = parseSignature(data) })
}

// TestSignaturesHaveToMatchTheBundle compares every program and library with how the bundle was
// signed.
func TestSignaturesHaveToMatchTheBundle(t *testing.T) {
	for _, c := range []struct {
		name string
		how  signing
		sign func(name string) signature
		want string // empty for nothing
	}{
		{"ad hoc", adHoc, func(n string) signature { return signature{identifier: identifierOf(n)} }, ""},
		{"by an identity", byIdentity, func(n string) signature { return signature{identifierOf(n), flagRuntime, true} }, ""},
		{"another name", adHoc, func(string) signature { return signature{identifier: "a.out"} }, "Resources/bin/tandem is signed as a.out; it has to be " + bundleID + ".tandem"},
		{"hardened without an identity", adHoc, func(n string) signature { return signature{identifierOf(n), flagAdHoc | flagRuntime, false} }, "libmlx.dylib is signed with flags 0x10002"},
		{"an identity not hardened", byIdentity, func(n string) signature { return signature{identifierOf(n), 0x200, true} }, "libmlxselect.dylib is signed with flags 0x200"},
		{"without a name", byIdentity, func(n string) signature { return signature{identifier: identifierOf(n)} }, "has to be by an identity"},
		{"no timestamp", byIdentity, func(n string) signature { return signature{identifierOf(n), flagRuntime, false} }, "the signature of Contents/MacOS/Tandem has no timestamp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newTestBundle()
			for name, spec := range x.binaries {
				spec.signed = c.sign("Contents/" + name)
				x.binaries[name] = spec
			}
			got := findings(t, x.write(t), expectation{product: x.product, signing: c.how})
			if c.want == "" && len(got) > 0 {
				t.Errorf("found %q", got)
			}
			if c.want != "" {
				wantFinding(t, got, c.want)
			}
		})
	}
}
