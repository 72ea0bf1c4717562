package control

import "fmt"

// ShortContext says why a model is served with a shorter context than --context asks for, in one
// sentence without its full stop. It is empty if nothing longer was asked for (0) than the model
// has; 0 for that is not known.
func ShortContext(asked, has int) string {
	if has == 0 || asked <= has {
		return ""
	}
	return fmt.Sprintf("--context asks for %s tokens, and the model was made for %s",
		Grouped(asked), Grouped(has))
}
