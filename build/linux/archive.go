package linux

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tandem/build/program"
)

// pack writes the folder tree into an archive, below its own name, and returns the archive's SHA-256.
func pack(archive, tree string) (sum string, err error) {
	out, err := os.Create(archive)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	hash := sha256.New()
	zipped, err := gzip.NewWriterLevel(io.MultiWriter(out, hash), gzip.BestSpeed)
	if err != nil {
		return "", err
	}
	w := tar.NewWriter(zipped)
	err = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		h, err := tar.FileInfoHeader(info, "")
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(filepath.Dir(tree), path)
		if err != nil {
			return err
		}
		*h = tar.Header{Typeflag: h.Typeflag, Name: rel, Size: h.Size, Mode: 0o755, ModTime: program.ArchiveTime}
		if d.Type().IsRegular() {
			h.Mode = int64(info.Mode().Perm()) &^ 0o022
		}
		if err := w.WriteHeader(h); err != nil || d.IsDir() {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.Copy(w, in)
		return err
	})
	if err := errors.Join(err, w.Close(), zipped.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
