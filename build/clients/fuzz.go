package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// describedRoutes is the recorded description of the endpoint. A test holds the served one to it.
const describedRoutes = "app/server/testdata/openapi-recorded.json"

// fuzz lets schemathesis send requests that the endpoint's own description allows, and requests
// that it does not allow. It expects:
//   - no error of the server;
//   - no status and no form beyond the description;
//   - acceptance of every request that the description allows.
func (t *clientTier) fuzz(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(t.Root, describedRoutes))
	if err != nil {
		return err
	}
	all, err := operations(text)
	if err != nil {
		return err
	}
	return t.against(ctx, t.scripted("any.json", "--context", "4096"), func(url string) error {
		// schemathesis leaves out the route of the description itself
		return t.fuzzRoutes(ctx, url, "the description of the routes", "40", all-1)
	})
}

// fuzzRoutes tries operations of the description for a number of seconds. Paths limit them to the
// operations of these paths. want is the number of operations that have to be tried.
func (t *clientTier) fuzzRoutes(
	ctx context.Context, url, feature, seconds string, want int, paths ...string,
) error {
	ctx, cancel := context.WithTimeout(ctx, clientLimit)
	defer cancel()
	start := time.Now()
	args := []string{"run", url + "/openapi.json", "--seed", "1", "--max-time", seconds,
		"--phases", "coverage,fuzzing", "--request-timeout", "30", "--suppress-health-check", "all",
		"--warnings", "off", "--no-color",
		"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance,acceptance"}
	for _, path := range paths {
		args = append(args, "--include-path", path)
	}
	cmd, err := t.isolated(ctx, filepath.Join(filepath.Dir(t.python), "schemathesis"), args...)
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, "SCHEMATHESIS_HOOKS="+filepath.Join(t.Root, clientsDir,
		"acceptance.py"))
	out, err := cmd.CombinedOutput()
	if err == nil {
		err = triedAll(out, want)
	}
	if err != nil {
		return fmt.Errorf("schemathesis: %w\n%s", err, out)
	}
	t.table.add("schemathesis", feature)
	fmt.Fprintf(t.Out, "ok    %7.1f s  schemathesis: %s; %d operations tried\n",
		time.Since(start).Seconds(), feature, want)
	return nil
}

// operations counts the methods of a description's paths.
func operations(description []byte) (n int, err error) {
	var d struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(description, &d); err != nil {
		return 0, err
	}
	for _, path := range d.Paths {
		for _, method := range []string{"get", "post", "put", "delete", "patch", "head", "options",
			"trace"} {
			if path[method] != nil {
				n++
			}
		}
	}
	return n, nil
}

// triedOperations matches the line in which schemathesis says how many operations it tried.
var triedOperations = regexp.MustCompile(`(?m)^\s*Tested: (\d+)$`)

// triedAll returns an error unless schemathesis tried all operations. schemathesis itself does not
// report an operation that it did not try.
func triedAll(out []byte, want int) error {
	m := triedOperations.FindSubmatch(out)
	if m == nil {
		return errors.New("schemathesis does not say how many operations it tried")
	}
	if n, err := strconv.Atoi(string(m[1])); err != nil || n != want {
		return fmt.Errorf("schemathesis tried %s of %d operations", m[1], want)
	}
	return nil
}
