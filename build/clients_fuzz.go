package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// fuzz has schemathesis send what the endpoint's own description allows and what it does not. No answer may be an error
// of the server's, or of another status or form than the description says, and what the description allows is accepted.
func (t *clientTier) fuzz(ctx context.Context) error {
	return t.against(ctx, t.scripted("any.json", "--context", "4096"), func(url string) error {
		ctx, cancel := context.WithTimeout(ctx, clientLimit)
		defer cancel()
		const seconds = "40"
		start := time.Now()
		cmd, err := t.isolated(ctx, filepath.Join(filepath.Dir(t.python), "schemathesis"), "run", url+"/openapi.json", "--seed", "1", "--max-time", seconds,
			"--phases", "coverage,fuzzing", "--request-timeout", "30", "--suppress-health-check", "all", "--warnings", "off",
			"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance,acceptance")
		if err != nil {
			return err
		}
		cmd.Env = append(cmd.Env, "SCHEMATHESIS_HOOKS="+filepath.Join(t.root, clientsDir, "acceptance.py"))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("schemathesis: %w\n%s", err, out)
		}
		t.table.add("schemathesis", "the description of the routes")
		fmt.Fprintf(t.out, "ok    %7.1f s  schemathesis: the description of the routes\n", time.Since(start).Seconds())
		return nil
	})
}
