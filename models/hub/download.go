package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"tandem/storage/disk"
)

// errChanged means that the file changed after the hub gave its hash.
var errChanged = errors.New("the file changed at the hub")

// A file is one file of a pull.
type file struct {
	name string
	etag string // its hash, and the name of its blob
	size int64
	have int64  // bytes that were on disk when the pull was planned
	slot int    // in the meter
	head []byte // the beginning of weights, while they are checked
}

// A download writes one blob, while this program holds its lock.
type download struct {
	p       *pull
	f       *file
	out     *os.File // blobs/ETAG.incomplete, written at the end
	hash    hash.Hash
	have    int64 // bytes in out, all of them in hash
	best    int64 // have when an attempt last counted as a gain
	resumed bool  // some of the bytes are from an earlier pull, perhaps of another program
}

// newHash returns the hash that an ETag is of: SHA-256, or SHA-1 of a git blob of that size. It
// returns nil if it is neither.
func newHash(etag string, size int64) hash.Hash {
	switch {
	case isHex(etag, sha256.Size*2):
		return sha256.New()
	case isHex(etag, sha1.Size*2):
		h := sha1.New()
		fmt.Fprintf(h, "blob %d\x00", size)
		return h
	}
	return nil
}

// fetch makes the blob of a file, unless it exists. It continues what an earlier pull left and
// checks the whole against the hash. Only then does the file get its name.
func (p *pull) fetch(ctx context.Context, f *file) error {
	unlock, err := p.repo.lock(ctx, f.etag, func() {
		p.meter.setWaiting("another program downloads " + f.name)
		if st, err := disk.Stat(p.repo.partial(f.etag)); err == nil {
			p.meter.set(f, min(st.Size(), f.size), 0)
		}
	})
	if err != nil {
		return p.fileError(ctx, err)
	}
	defer unlock()
	p.meter.setWaiting("")
	if p.repo.has(f) {
		p.meter.set(f, f.size, 0)
		return nil
	}
	d := &download{p: p, f: f}
	if _, err := disk.Stat(p.repo.partial(f.etag)); errors.Is(err, fs.ErrNotExist) && p.began != nil {
		p.began(f.etag)
	}
	if d.out, err = disk.OpenUnlinked(p.repo.partial(f.etag), 0, 0o666); err != nil {
		return diskError(p.name, err)
	}
	defer d.out.Close()
	if err := d.resume(ctx); err != nil {
		return p.fileError(ctx, err)
	}
	if err := d.get(ctx); err != nil {
		return p.fileError(ctx, err)
	}
	return p.fileError(ctx, d.finish(ctx))
}

// has reports whether the blob exists with the right size. Its writer has checked its hash.
func (r repo) has(f *file) bool {
	st, err := disk.Stat(r.blob(f.etag))
	return err == nil && st.Mode().IsRegular() && st.Size() == f.size
}

// fileError turns an error of the file system into an [*Error]. Others are returned as they are.
func (p *pull) fileError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, errChanged) {
		return err
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return diskError(p.name, err)
}

// resume continues from what an earlier pull left. The part is hashed again, because its hash is
// not stored.
func (d *download) resume(ctx context.Context) error {
	d.hash = newHash(d.f.etag, d.f.size)
	st, err := d.out.Stat()
	if err != nil {
		return err
	}
	if st.Size() > d.f.size {
		return d.restart()
	}
	d.have, err = io.Copy(d.hash, io.LimitReader(&contextReader{ctx, d.out}, st.Size()))
	d.best, d.resumed = d.have, d.have > 0
	d.p.meter.set(d.f, d.have, 0)
	return err
}

// restart discards what has arrived.
func (d *download) restart() error {
	d.hash, d.have, d.resumed = newHash(d.f.etag, d.f.size), 0, false
	d.p.meter.set(d.f, 0, 0)
	if err := d.out.Truncate(0); err != nil {
		return err
	}
	_, err := d.out.Seek(0, io.SeekStart)
	return err
}

// get fetches what is missing. It retries while attempts gain something.
func (d *download) get(ctx context.Context) error {
	return d.p.client.retry(ctx, fileAttempts, d.p.waiting, func() (bool, error) {
		if d.have == d.f.size {
			return false, nil
		}
		err := d.attempt(ctx)
		// A gain is more than a thousandth of the file, so that the number of attempts is bounded.
		gained := d.have > d.best+d.f.size/1000
		if gained {
			d.best = d.have
		}
		return gained, err
	})
}

// attempt sends one request and writes what it brings.
func (d *download) attempt(ctx context.Context) error {
	c := &d.p.client
	header := make(http.Header)
	if d.have > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", d.have))
	}
	r, err := c.do(ctx, http.MethodGet, c.fileURL(d.p.commit, d.f.name), header)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	switch {
	case r.StatusCode == http.StatusRequestedRangeNotSatisfiable && d.have > 0:
		if err := d.restart(); err != nil {
			return err
		}
		return &transient{err: errorf(BadReply, c.name,
			"the hub does not continue %s where it broke off (%s): pull again", d.f.name, r.Status)}
	case r.StatusCode != http.StatusOK && r.StatusCode != http.StatusPartialContent:
		return c.statusError(r, d.f.name)
	case r.etag != "" && r.etag != d.f.etag:
		return errChanged
	case r.StatusCode == http.StatusOK && r.ContentLength > d.f.size:
		return errorf(BadReply, c.name, "the hub announced %d bytes of %s and sends %d: "+
			"check the hub endpoint", d.f.size, d.f.name, r.ContentLength)
	case r.StatusCode == http.StatusOK && d.have > 0:
		// The server sends the whole instead of the rest.
		if err := d.restart(); err != nil {
			return err
		}
	case r.StatusCode == http.StatusPartialContent:
		start, size, err := contentRange(r.Header.Get("Content-Range"))
		if err != nil || start != d.have || size >= 0 && size != d.f.size {
			if err := d.restart(); err != nil {
				return err
			}
			return &transient{err: errorf(BadReply, c.name,
				"the hub sends another part of %s than it was asked for (%q): pull again",
				d.f.name, r.Header.Get("Content-Range"))}
		}
	}
	return d.copy(r.Body)
}

// copy appends a body to what has arrived.
func (d *download) copy(body io.Reader) error {
	name := d.p.name
	buf := make([]byte, 256<<10)
	for {
		n, err := body.Read(buf)
		n = int(min(int64(n), d.f.size-d.have)) // bytes beyond the announced size are cut off
		if n > 0 {
			if err := d.p.keepReserve(int64(n)); err != nil {
				return err
			}
			if _, err := d.p.write(d.out, buf[:n]); err != nil {
				return err
			}
			d.hash.Write(buf[:n])
			d.have += int64(n)
			d.p.meter.set(d.f, d.have, int64(n))
		}
		switch {
		case d.have == d.f.size:
			return nil
		case err == nil:
			continue
		}
		if e, ok := errors.AsType[*Error](err); err == io.EOF || ok && e.Code == Offline {
			err = &transient{err: errorf(Truncated, name,
				"the connection ended after %d of the %d bytes of %s: "+
					"pull again, what has arrived is kept (%w)", d.have, d.f.size, d.f.name, err)}
		}
		return err
	}
}

// finish checks the hash and gives the blob its name. If the hash of a resumed file is wrong, the
// file is fetched once more from the start: what an earlier pull left may be at fault.
func (d *download) finish(ctx context.Context) error {
	sum := hex.EncodeToString(d.hash.Sum(nil))
	if sum != d.f.etag && d.resumed {
		d.p.client.log.Warn("a resumed file has the wrong hash; fetching it again",
			"model", d.p.name, "file", d.f.name)
		if err := d.restart(); err != nil {
			return err
		}
		if err := d.get(ctx); err != nil {
			return err
		}
		sum = hex.EncodeToString(d.hash.Sum(nil))
	}
	if sum != d.f.etag {
		if err := os.Remove(d.out.Name()); err != nil {
			return err
		}
		return errorf(HashMismatch, d.p.name,
			"%s is not what the hub announced (hash %s instead of %s), so it was removed: "+
				"pull again, and if that does not help, something on the way changes files",
			d.f.name, sum, d.f.etag)
	}
	if err := errors.Join(d.out.Sync(), d.out.Close()); err != nil {
		return err
	}
	blob := d.p.repo.blob(d.f.etag)
	if err := os.Rename(d.out.Name(), blob); err != nil {
		return err
	}
	return syncDir(filepath.Dir(blob))
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// A contextReader fails once its context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
