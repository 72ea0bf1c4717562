package hub

import "fmt"

const (
	diskReserve = 512 << 20 // bytes that a pull leaves free for the rest of the system
	lookEvery   = 16 << 20  // bytes that a pull writes before it looks at the free space again
)

// keepReserve is called before n bytes are written. It fails if the disk, which other programs fill
// too, has no more than its reserve.
func (p *pull) keepReserve(n int64) error {
	if p.written.Add(n) < lookEvery {
		return nil
	}
	p.written.Store(0)
	have, err := p.free(p.repo.cache)
	if err != nil {
		return diskError(p.name, err)
	}
	if have < diskReserve {
		return errorf(DiskFull, p.name, "the disk of %s has %s free, and %s stay for the system: "+
			"free some space and pull again, what has arrived is kept", p.repo.cache,
			gigabytes(have), gigabytes(diskReserve))
	}
	return nil
}

// checkSpace fails if the disk cannot hold what is missing.
func (p *pull) checkSpace(files []*file) error {
	var need int64 // no file is larger than maxFileBytes, so that this does not overflow
	for _, f := range files {
		need += f.size - f.have
	}
	have, err := p.free(p.repo.cache)
	if err != nil {
		return diskError(p.name, err)
	}
	if need > 0 && need+diskReserve > have {
		return errorf(DiskFull, p.name, "%s are still to come, and the disk of %s has %s free, "+
			"%s for the system included: free %s and pull again", gigabytes(need), p.repo.cache,
			gigabytes(have), gigabytes(diskReserve), gigabytes(need+diskReserve-have))
	}
	return nil
}

// gigabytes writes a size as the Finder does, in powers of ten.
func gigabytes(n int64) string {
	if n < 100e6 {
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
