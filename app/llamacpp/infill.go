package llamacpp

import (
	"strings"

	"tandem/app/api"
	"tandem/app/wire"
)

// readInfill reads the body of /infill: a text with a gap. The text before the gap has two parts,
// as editors send it: the lines above, and the line of the cursor up to it.
func readInfill(f *wire.Fields) (api.Request, error) {
	f.As(infillRequestShape)
	p := readParams(f, "input_prefix")
	before := readExtra(f) + f.String("input_prefix") + f.String("prompt")
	return &textRequest{api.Completion{
		Params: p, Texts: []string{before}, Suffix: f.String("input_suffix"), Fill: true,
	}}, f.Err()
}

// readExtra returns the texts of other files, which come before the text with the gap.
func readExtra(f *wire.Fields) string {
	const what = "must be a list of objects with a text."
	var b strings.Builder
	for o := range f.Items("input_extra", f.List("input_extra", what)) {
		o.String("filename")
		if text := o.String("text"); text != "" {
			b.WriteString(text)
			b.WriteString("\n\n")
		}
	}
	return b.String()
}
