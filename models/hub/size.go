package hub

import (
	"context"
	"strings"
	"time"
)

// Size asks the hub how many bytes a pull of a model would fetch onto an empty disk. name is as for
// [Pull]. Nothing is written. If a model has its weights in several sets of files, the answer may
// be too large: the index, which separates the sets, is not fetched. Errors: [Invalid],
// [BadOption], [NotFound], [Gated], [Unsupported], [Unsafe], [Offline], [RateLimited],
// [Unavailable], [BadReply].
func Size(ctx context.Context, name string, opts Options) (bytes int64, err error) {
	id, revision, err := Parse(name)
	if err != nil {
		return 0, err
	}
	if opts.Offline {
		return 0, errorf(Offline, name,
			"HF_HUB_OFFLINE forbids asking the hub: unset it to see sizes")
	}
	c, err := newClient(name, id, opts)
	if err != nil {
		return 0, err
	}
	in, err := c.info(ctx, revision, "?blobs=true", func(time.Duration, error) {})
	if err != nil {
		return 0, err
	}
	files, err := in.choose(name, nil)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		n, known := in.sizes[f]
		switch {
		case !known && strings.HasSuffix(f, ".safetensors"):
			return 0, errorf(BadReply, name, "the hub does not say how large %s is", f)
		}
		bytes += n
	}
	return bytes, nil
}
