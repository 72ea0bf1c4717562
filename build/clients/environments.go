package clients

import (
	"context"
	"path/filepath"

	"tandem/build/setup"
)

// environments installs the clients written in Python. Some need versions that others do not take.
func (t *clientTier) environments(ctx context.Context) (err error) {
	for _, e := range []struct {
		python             *string
		name, file, before string
	}{
		{&t.python, "clients", "requirements.txt", ""},
		{&t.framed, "clients-frameworks", "frameworks.txt", ""},
		{&t.instructor, "clients-instructor", "instructor.txt", ""},
		{&t.scorer, "clients-scores", "scores.txt", ""},
		{&t.aider, "clients-aider", "aider.txt", "3.13"},
	} {
		if *e.python, err = t.Venv(ctx, setup.Venv{Name: e.name,
			Requirements: clientsDir + "/" + e.file, Before: e.before}); err != nil {
			return err
		}
	}
	t.direct, err = t.ReferencePython(ctx)
	return err
}

// clientModules installs what node/package-lock.json pins and returns the folder. It also links the
// folder to where programs look for it.
func clientModules(ctx context.Context, b *setup.Builder) (string, error) {
	node, err := b.Output(b.Command(ctx, "node", "--version"))
	if err != nil {
		return "", err
	}
	modules, err := b.NodeModules(ctx, "clients-node", clientsDir+"/node", node)
	if err != nil {
		return "", err
	}
	return modules, setup.Link(filepath.Join(b.Root, clientsDir, "node", "node_modules"), modules)
}
