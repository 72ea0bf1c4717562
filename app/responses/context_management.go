package responses

import "tandem/app/wire"

// readContextManagement reads when the client wants its conversation compacted. An answer cannot do that
// on its way: a longer conversation is refused, so that the client compacts it.
func (c *responseRequest) readContextManagement(f *wire.Fields) {
	const param = "context_management"
	for o := range f.Items(param, f.List(param, "must be a list of objects.")) {
		if o.NeededWord("type") == "" {
			return
		}
		if most := o.Whole("compact_threshold"); most != nil {
			c.AtMost(*most, o.Path+"compact_threshold",
				"send the input to /v1/responses/compact and continue with its output")
		}
	}
}

// contextManagementShape is the shape of context_management.
var contextManagementShape = wire.List(wire.Object(
	wire.Required("type", wire.Enum("compaction")),
	wire.Optional("compact_threshold", wire.Int(1, wire.MaxExact), "A longer prompt is refused, for /v1/responses/compact."),
))
