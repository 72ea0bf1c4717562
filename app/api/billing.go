package api

import "strings"

// billing begins a line that Claude Code puts into its system text for its vendor. It changes with
// each request, so that no prompt would begin like the one before.
const billing = "x-anthropic-billing-header:"

// StripBillingHeader returns the text without such lines.
func StripBillingHeader(text string) string {
	if !strings.Contains(text, billing) {
		return text
	}
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), billing) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
