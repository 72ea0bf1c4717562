package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Choice adds a flag of a verb that takes one of several words, which a shell completes. to has the
// default value.
func Choice(c *cobra.Command, to *string, name, usage string, words ...string) {
	c.Flags().Func(name, usage, func(text string) error {
		if !slices.Contains(words, text) {
			last := len(words) - 1
			return fmt.Errorf("must be %s or %s, not %q", strings.Join(words[:last], ", "), words[last], text)
		}
		*to = text
		return nil
	})
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	if err := c.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(err) // two flags of one name
	}
}
