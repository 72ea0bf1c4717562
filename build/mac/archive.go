package mac

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"tandem/build/program"
)

// zipBundle packs a bundle under its own name, with modes and links. It returns the archive's
// SHA-256 and its size in bytes.
func zipBundle(archive, bundle string) (sum string, size int64, err error) {
	out, err := os.Create(archive)
	if err != nil {
		return "", 0, err
	}
	defer out.Close()
	hash := sha256.New()
	w := zip.NewWriter(io.MultiWriter(out, hash))
	err = filepath.WalkDir(bundle, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(bundle, file)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: path.Join(filepath.Base(bundle), filepath.ToSlash(rel)),
			Method: zip.Deflate, Modified: program.ArchiveTime}
		h.SetMode(info.Mode())
		switch {
		case d.IsDir():
			h.Name, h.Method = h.Name+"/", zip.Store
			_, err := w.CreateHeader(h)
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(file)
			if err != nil {
				return err
			}
			h.Method = zip.Store
			entry, err := w.CreateHeader(h)
			if err != nil {
				return err
			}
			_, err = io.WriteString(entry, target)
			return err
		}
		entry, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		in, err := os.Open(file)
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.Copy(entry, in)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		return "", 0, err
	}
	info, err := os.Stat(archive)
	if err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(hash.Sum(nil)), info.Size(), nil
}

// diskImage makes a disk image with the app and a link to /Applications, on a Mac.
func (b *builder) diskImage(ctx context.Context, image, bundle string) error {
	folder, err := os.MkdirTemp("", "tandem-dmg-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := b.Step("disk image: copy the app",
		b.Command(ctx, "ditto", bundle, filepath.Join(folder, filepath.Base(bundle)))); err != nil {
		return err
	}
	if err := os.Symlink("/Applications", filepath.Join(folder, "Applications")); err != nil {
		return err
	}
	// Programs that look at new files, such as Spotlight, may hold them: "Resource busy".
	return retry(ctx, 5, 5*time.Second, func() error {
		return b.Step(image, b.Command(ctx, "hdiutil", "create", "-quiet", "-ov", "-volname",
			"Tandem", "-srcfolder", folder, "-format", "UDZO", image))
	})
}

// retry calls f until it returns nil, at most so many times with a pause between. It returns the
// last error.
func retry(ctx context.Context, times int, pause time.Duration, f func() error) error {
	for ; ; times-- {
		err := f()
		if err == nil || times <= 1 {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// cask returns the file with which Homebrew installs the app and links the command line program
// inside it.
func cask(p program.Product, url, sum string) string {
	return fmt.Sprintf(`cask "tandem" do
  version "%s"
  sha256 "%s"

  url "%s"
  name "%s"
  desc "%s"
  homepage "%s"

  depends_on arch: :arm64
  depends_on macos: ">= :sonoma"

  app "Tandem.app"
  binary "#{appdir}/Tandem.app/Contents/%s"

  uninstall launchctl: "%s",
            quit:      ["%s", "%s"]

  zap trash: [
    "~/Library/Application Support/Tandem",
    "~/Library/Saved Application State/%[10]s.savedState",
    "~/Library/WebKit/%[10]s",
  ]
end
`, p.Info.ProductVersion, sum, url, p.Info.ProductName, p.Info.Comments, homepage(url), inTandem,
		agentLabel, bundleID, windowID)
}

// homepage returns the folder of a download.
func homepage(url string) string { return url[:len(url)-len(path.Base(url))] }

// megabytes formats a size for a person.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// unzip unpacks an archive with modes and links.
func unzip(dir, archive string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer r.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range r.File {
		if err := unzipOne(root, f); err != nil {
			return fmt.Errorf("%s: %s: %w", archive, f.Name, err)
		}
	}
	return nil
}

func unzipOne(root *os.Root, f *zip.File) error {
	if f.Mode().IsDir() {
		return root.MkdirAll(path.Clean(f.Name), 0o755)
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	if f.Mode()&fs.ModeSymlink != 0 {
		target, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return root.Symlink(string(target), f.Name)
	}
	out, err := root.OpenFile(f.Name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, f.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
