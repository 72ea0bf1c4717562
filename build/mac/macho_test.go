package mac

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/build/setup"
)

// A binarySpec describes a made-up Mach-O file: load commands and a symbol table, with no code
// after them.
type binarySpec struct {
	library  string // its install name; empty for a program
	cpu      uint32 // 0 = Apple silicon
	minOS    string // "" = 14.0
	unsigned bool
	signed   signature // no identifier = the right one, no flags = ad hoc
	text     string    // something that it holds
	loads    []string
	rpaths   []string
	exports  []string
	imports  map[string]int // symbol -> index in loads, -1 for none
}

// bytes returns the file.
func (s binarySpec) bytes() []byte {
	var commands bytes.Buffer
	count := 0
	command := func(kind uint32, words []uint32, text string) {
		body := new(bytes.Buffer)
		binary.Write(body, binary.LittleEndian, words)
		if text != "" {
			body.WriteString(text)
			body.Write(make([]byte, 8-body.Len()%8))
		}
		binary.Write(&commands, binary.LittleEndian, []uint32{kind, uint32(8 + body.Len())})
		commands.Write(body.Bytes())
		count++
	}
	if s.library != "" {
		command(loadIDDylib, []uint32{24, 0, 0, 0}, s.library)
	}
	for _, l := range s.loads {
		command(0xc, []uint32{24, 0, 0, 0}, l)
	}
	for _, r := range s.rpaths {
		command(0x8000001c, []uint32{12}, r)
	}
	var major, minor uint32 = 14, 0
	if s.minOS != "" {
		fmt.Sscanf(s.minOS, "%d.%d", &major, &minor)
	}
	command(loadBuildVersion, []uint32{platformMacOS, major<<16 | minor<<8, 0, 0}, "")

	const headerBytes, tableBytes = 32, 24
	var symbols, names bytes.Buffer
	names.WriteByte(0)
	number := 0
	symbol := func(name string, kind byte, ordinal int) {
		binary.Write(&symbols, binary.LittleEndian, uint32(names.Len()))
		symbols.Write([]byte{kind, 1})
		binary.Write(&symbols, binary.LittleEndian, uint16(ordinal<<8))
		binary.Write(&symbols, binary.LittleEndian, uint64(0))
		names.WriteString(name + "\x00")
		number++
	}
	for _, e := range s.exports {
		symbol(e, symbolExternal|0x0e, 0)
	}
	for name, library := range s.imports {
		ordinal := library + 1
		if library < 0 {
			ordinal = ordinalDynamic
		}
		symbol(name, symbolExternal, ordinal)
	}
	names.WriteString(s.text)
	at := uint32(headerBytes + commands.Len() + tableBytes)
	var blob []byte
	if !s.unsigned {
		blob = s.signed.bytes()
		at += 16
		command(loadSignature, []uint32{at + uint32(symbols.Len()+names.Len()), uint32(len(blob))},
			"")
	}
	command(2, []uint32{at, uint32(number), at + uint32(symbols.Len()), uint32(names.Len())}, "")

	kind := uint32(2)
	if s.library != "" {
		kind = 6
	}
	cpu := s.cpu
	if cpu == 0 {
		cpu = 0x0100000c
	}
	var file bytes.Buffer
	binary.Write(&file, binary.LittleEndian, []uint32{0xfeedfacf, cpu, 0, kind, uint32(count),
		uint32(commands.Len()), 0x80, 0})
	file.Write(commands.Bytes())
	file.Write(symbols.Bytes())
	file.Write(names.Bytes())
	file.Write(blob)
	return file.Bytes()
}

// goProgram builds a real program for a Mac with Go's own linker, which needs nothing from a Mac.
var goProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tandem-macho-")
	if err != nil {
		return "", err
	}
	source, out := filepath.Join(dir, "main.go"), filepath.Join(dir, "main")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(1) }\n"),
		0o644); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", out, source)
	cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return out, nil
})

// TestReadMachOTakesMacProgramsAlone reads a real program, and refuses other files.
func TestReadMachOTakesMacProgramsAlone(t *testing.T) {
	path, err := goProgram()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(path))
	m, err := readMachO(path)
	if err != nil {
		t.Fatal(err)
	}
	if !m.executable {
		t.Error("m.executable = false, want true")
	}
	if m.signature == nil {
		t.Fatal("m.signature is nil")
	}
	if m.signature.flags&flagAdHoc == 0 {
		t.Errorf("m.signature.flags&flagAdHoc is %v", m.signature.flags&flagAdHoc)
	}
	if m.minOS == "" {
		t.Error("m.minOS is empty")
	}
	if !slices.Contains(m.loads, "/usr/lib/libSystem.B.dylib") {
		t.Errorf(`m.loads = %v, want it to have "/usr/lib/libSystem.B.dylib"`, m.loads)
	}
	for name, data := range map[string][]byte{"empty": nil,
		"text": []byte("hello there, this is a text"), "short": []byte("\xcf\xfa")} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readMachO(file); err == nil ||
			!strings.Contains(err.Error(), errNotMachO.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if setup.CompareVersions("14.0", "9.5") <= 0 || setup.CompareVersions("26.2", "26.10") >= 0 ||
		setup.CompareVersions("14.0", "14.0") != 0 {
		t.Error("versions are compared as texts")
	}
}

// FuzzReadMachO expects that no file makes the validator panic.
func FuzzReadMachO(f *testing.F) {
	for _, spec := range newTestBundle().binaries {
		f.Add(spec.bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _ = readMachO(path) // either will do
	})
}
