package models

import (
	"context"
	"io/fs"

	"tandem/engine/mlx"
	"tandem/models/dflash"
)

// A Parity compares a drafter's forward with the guesses of a reference, which were recorded.
type Parity = dflash.Parity

// DrafterParity drafts all recorded cases of a folder in a type, see [dflash.DraftRecorded].
func DrafterParity(ctx context.Context, t *mlx.Thread, recorded fs.FS,
	dtype mlx.Dtype) ([]Parity, error) {
	return dflash.DraftRecorded(ctx, t, recorded, dtype)
}
