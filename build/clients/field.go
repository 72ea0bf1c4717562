package clients

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/build/program"
	"tandem/build/setup"
)

// Field sends a fresh tandem serve what clients, published models and hostile files hold, and
// prints a line for each input. keys, such as w7, m or s, choose among the inputs.
func Field(ctx context.Context, b *setup.Builder, keys []string) error {
	start := time.Now()
	if err := b.SetUp(ctx); err != nil {
		return err
	}
	tandem, err := program.BuildTandem(ctx, b)
	if err != nil {
		return err
	}
	script := filepath.Join(b.Root, clientsDir, "field", "field.py")
	cmd := b.Command(ctx, "python3", append([]string{script, tandem}, keys...)...)
	cmd.Env = append(cmd.Env, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdout, cmd.Stderr = b.Out, os.Stderr
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("field %s: not every input has its right answer: %w",
			strings.Join(keys, " "), err)
	}
	fmt.Fprintf(b.Out, "test field: %s\n", setup.Seconds(time.Since(start)))
	return err
}
