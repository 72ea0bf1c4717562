package mac

import (
	"cmp"
	"context"
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tandem/build/program"
	"tandem/build/setup"
	"tandem/build/typecheck"
)

// Test builds the app for a Mac as far as this machine can, and validates the folder and the
// archive. First it checks the types of the code that only a Mac compiles: the menu bar, the
// window, and the files with the tag bundle.
func Test(ctx context.Context, from *setup.Builder) error {
	b := &builder{from}
	start := time.Now()
	if err := b.installRequirements(ctx); err != nil {
		return err
	}
	if err := b.SetUp(ctx); err != nil {
		return err
	}
	for _, tags := range []string{"", "desktop,production,ui,bundle"} {
		began := time.Now()
		if err := typecheck.DarwinTags(ctx, from, tags); err != nil {
			return fmt.Errorf("types for darwin/arm64, tags %q: %w", tags, err)
		}
		fmt.Fprintf(b.Out, "types for darwin/arm64, tags %q: %s\n", tags,
			setup.Seconds(time.Since(began)))
	}
	a, err := b.makeApp(ctx, program.Addresses{})
	if err != nil {
		return err
	}
	if err := b.packBundle(ctx, a, ""); err != nil {
		return err
	}
	a.report(b)
	if err := errors.Join(b.archiveHolds(a), checkJumps(filepath.Join(a.path, "Contents", inMLX,
		selectLib)), b.rehearse(ctx, a)); err != nil {
		return err
	}
	fmt.Fprintf(b.Out, "test mac: %s\n", setup.Seconds(time.Since(start)))
	return nil
}

// archiveHolds returns an error unless the archive holds the bundle that it was made from.
func (b *builder) archiveHolds(a *appBundle) error {
	archives, err := filepath.Glob(filepath.Join(b.appOut(),
		"Tandem-"+a.product.Info.ProductVersion+"*.zip"))
	if err != nil {
		return err
	}
	if len(archives) != 1 {
		return fmt.Errorf("%d archives of this version in %s, want one", len(archives), b.appOut())
	}
	found, err := validateArchive(archives[0], a.expected)
	if err != nil {
		return err
	}
	if got, want := found.table(), a.result.table(); got != want {
		return fmt.Errorf("the archive holds\n%sthe bundle has\n%s", got, want)
	}
	fmt.Fprintf(b.Out, "%s holds the same\n", archives[0])
	return errors.Join(found.findings...)
}

// checkJumps disassembles the functions of libmlxselect. Each has to be a jump through a slot of
// its own. Slots stand in the order of the functions' names, because they are filled by name.
func checkJumps(path string) error {
	f, err := macho.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text := f.Section("__text")
	if text == nil {
		return fmt.Errorf("%s has no code", path)
	}
	code, err := text.Data()
	if err != nil {
		return err
	}
	functions := slices.DeleteFunc(slices.Clone(f.Symtab.Syms),
		func(s macho.Symbol) bool { return !isMLXC(s.Name) || s.Type&symbolDebug != 0 })
	slices.SortFunc(functions, func(x, y macho.Symbol) int { return cmp.Compare(x.Name, y.Name) })
	var first uint64
	for i, s := range functions {
		at := s.Value - text.Addr
		if at+12 > uint64(len(code)) {
			return fmt.Errorf("%s: %s lies outside the code", path, s.Name)
		}
		slot, ok := jumpSlot(s.Value, code[at:at+12])
		if i == 0 {
			first = slot
		}
		if !ok || slot != first+8*uint64(i) {
			return fmt.Errorf("%s: %s does not jump through slot %d", path, s.Name, i)
		}
	}
	if len(functions) == 0 {
		return fmt.Errorf("%s has no function of mlx-c", path)
	}
	return nil
}

// jumpSlot decodes three instructions:
//
//	adrp x16, page
//	ldr x16, [x16, offset]
//	br x16
func jumpSlot(at uint64, code []byte) (slot uint64, ok bool) {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(code[4*i:]) }
	adrp, ldr, br := word(0), word(1), word(2)
	if adrp&0x9f00001f != 0x90000010 || ldr&0xffc003ff != 0xf9400210 || br != 0xd61f0200 {
		return 0, false
	}
	pages := int64(int32(adrp&0x00ffffe0<<8)) >> 11 &^ 3
	pages |= int64(adrp >> 29 & 3)
	return uint64(int64(at&^0xfff)+pages<<12) + uint64(ldr>>10&0xfff)*8, true
}

// rehearse signs a copy of the bundle with stand-ins for the programs that only a Mac builds, and
// validates it as a whole bundle.
func (b *builder) rehearse(ctx context.Context, a *appBundle) error {
	if len(a.result.absent) == 0 {
		return nil
	}
	cc, err := b.crossCC(ctx)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "tandem-app-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	bundle, source := filepath.Join(work, "Tandem.app"), filepath.Join(work, "main.c")
	if err := os.CopyFS(bundle, os.DirFS(a.path)); err != nil {
		return err
	}
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o644); err != nil {
		return err
	}
	for _, name := range faces {
		path := filepath.Join(bundle, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		cmd := b.Command(ctx, cc.cc[0], append(cc.cc[1:len(cc.cc):len(cc.cc)], "-Wl,-S", "-o", path,
			source)...)
		cmd.Env = append(cmd.Env, cc.env...)
		if err := b.Step("stand-in for "+name, cmd); err != nil {
			return err
		}
	}
	how, err := b.sign(ctx, bundle, true)
	if err != nil {
		return err
	}
	v, err := validate(os.DirFS(bundle), expectation{product: a.product, signing: how,
		private: b.privateFolders()})
	if err != nil {
		return err
	}
	return errors.Join(v.findings...)
}
