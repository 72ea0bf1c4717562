package mac

import (
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// A machO has what the validator reads from a Mach-O file.
type machO struct {
	executable bool
	minOS      string // "14.0"; empty if it names none
	id         string // a library's install name
	loads      []string
	rpaths     []string
	signature  *signature // nil if it has none
	exports    []string   // sorted

	// imports are the symbols taken from each library, by its index in loads. Symbols of no library
	// in particular, which the loader finds anywhere, stand under -1.
	imports map[int][]string
}

// Load commands and flags that debug/macho has no names for.
const (
	loadIDDylib       = 0xd
	loadWeakDylib     = 0x80000018
	loadReexportDylib = 0x8000001f
	loadSignature     = 0x1d
	loadBuildVersion  = 0x32
	loadMinMacOS      = 0x24

	symbolExternal  = 0x01
	symbolType      = 0x0e
	symbolDebug     = 0xe0
	symbolPrivate   = 0x10
	ordinalSelf     = 0
	ordinalDynamic  = 0xfe
	ordinalMain     = 0xff
	notTwoLevel     = -1
	platformMacOS   = 1
	minCommandBytes = 16
)

// maxSignature is the most bytes that are read of a signature. A signature has 32 bytes for each
// 4 kB of code, and certificates.
const maxSignature = 64 << 20

// errNotMachO means that a file is no program or library for a Mac.
var errNotMachO = errors.New("it is no program or library for a Mac")

// readMachO reads a program or a library for Apple silicon.
func readMachO(path string) (*machO, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := readMachOFile(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return m, err
}

// readMachOFile reads an open file. Error: errNotMachO.
func readMachOFile(file fs.File) (*machO, error) {
	at, ok := file.(io.ReaderAt)
	if !ok {
		return nil, errors.New("it cannot be read at an offset")
	}
	var magic [4]byte
	if _, err := at.ReadAt(magic[:], 0); err != nil ||
		binary.LittleEndian.Uint32(magic[:]) != macho.Magic64 {
		if m := binary.BigEndian.Uint32(magic[:]); m == macho.MagicFat || m == macho.Magic32 ||
			m == macho.Magic64 {
			return nil, errors.New("it is not for Apple silicon alone")
		}
		return nil, errNotMachO
	}
	f, err := macho.NewFile(at)
	if err != nil {
		return nil, err
	}
	if f.Cpu != macho.CpuArm64 {
		return nil, fmt.Errorf("it is for %v, not for Apple silicon", f.Cpu)
	}
	if f.Type != macho.TypeExec && f.Type != macho.TypeDylib {
		return nil, errors.New("it is neither a program nor a library")
	}
	m := &machO{executable: f.Type == macho.TypeExec, imports: map[int][]string{}}
	for _, l := range f.Loads {
		raw := l.Raw()
		if len(raw) < minCommandBytes {
			continue
		}
		word := func(i int) uint32 { return f.ByteOrder.Uint32(raw[4*i:]) }
		text := func() string {
			at := min(int(word(2)), len(raw))
			s, _, _ := strings.Cut(string(raw[at:]), "\x00")
			return s
		}
		switch command := word(0); command {
		case uint32(macho.LoadCmdDylib), loadWeakDylib, loadReexportDylib:
			m.loads = append(m.loads, text())
		case loadIDDylib:
			m.id = text()
		case uint32(macho.LoadCmdRpath):
			m.rpaths = append(m.rpaths, text())
		case loadSignature:
			if word(3) > maxSignature {
				return nil, errSignature
			}
			data := make([]byte, word(3))
			if _, err := at.ReadAt(data, int64(word(2))); err != nil {
				return nil, errSignature
			}
			if m.signature, err = parseSignature(data); err != nil {
				return nil, err
			}
		case loadBuildVersion:
			if word(2) == platformMacOS {
				m.minOS = packedVersion(word(3))
			}
		case loadMinMacOS:
			m.minOS = packedVersion(word(2))
		}
	}
	if f.Symtab != nil {
		m.symbols(f)
	}
	return m, nil
}

// symbols fills exports and imports.
func (m *machO) symbols(f *macho.File) {
	twoLevel := f.Flags&macho.FlagTwoLevel != 0
	for _, s := range f.Symtab.Syms {
		if s.Type&symbolDebug != 0 || s.Type&symbolExternal == 0 {
			continue
		}
		if s.Type&symbolType != 0 {
			if s.Type&symbolPrivate == 0 {
				m.exports = append(m.exports, s.Name)
			}
			continue
		}
		from := notTwoLevel
		if ordinal := int(s.Desc >> 8); twoLevel && ordinal != ordinalSelf &&
			ordinal != ordinalDynamic && ordinal != ordinalMain {
			from = ordinal - 1
		}
		m.imports[from] = append(m.imports[from], s.Name)
	}
	slices.Sort(m.exports)
}

// has reports whether the library exports a symbol.
func (m *machO) has(symbol string) bool {
	_, found := slices.BinarySearch(m.exports, symbol)
	return found
}

func packedVersion(v uint32) string { return fmt.Sprintf("%d.%d", v>>16, v>>8&0xff) }
