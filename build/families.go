package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// mostOfFamily is how many seconds the tests of a family should take at most.
const mostOfFamily = 10

// costLine is what enginetest.Charge logs.
var costLine = regexp.MustCompile(`cost of ([a-z0-9_]+): ([0-9.]+) s\n`)

// A familyCosts adds up the processor seconds that tests took on each family of models.
type familyCosts struct {
	packages map[string]string // of models/, by model_type
	seconds  map[string]float64
}

// familyPackages reads which package holds a model_type from the table in models/architectures.go.
func familyPackages(root string) (map[string]string, error) {
	path := filepath.Join(root, "models", "architectures.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return nil, err
	}
	packages := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if pair, ok := n.(*ast.KeyValueExpr); ok {
			modelType, _ := pair.Key.(*ast.BasicLit)
			parse, _ := pair.Value.(*ast.SelectorExpr)
			if modelType != nil && parse != nil {
				name, _ := strconv.Unquote(modelType.Value)
				packages[name] = fmt.Sprint(parse.X)
			}
		}
		return true
	})
	if len(packages) == 0 {
		return nil, fmt.Errorf("%s names no model_type", path)
	}
	return packages, nil
}

// add counts the costs in the output of a test.
func (c *familyCosts) add(output string) {
	for _, m := range costLine.FindAllStringSubmatch(output, -1) {
		seconds, _ := strconv.ParseFloat(m[2], 64)
		c.seconds[cmp.Or(c.packages[m[1]], m[1])] += seconds
	}
}

// print lists the families. With mark, slow ones are marked.
func (c *familyCosts) print(out io.Writer, mark bool) {
	for _, family := range slices.Sorted(maps.Keys(c.seconds)) {
		note := ""
		if mark && c.seconds[family] > mostOfFamily {
			note = fmt.Sprintf(" (more than %d s)", mostOfFamily)
		}
		fmt.Fprintf(out, "tests of models/%-12s %5.1f processor seconds%s\n", family+":",
			c.seconds[family], note)
	}
}
