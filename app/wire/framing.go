package wire

// A Framing writes the events of a stream in a protocol's layout.
type Framing interface {
	ContentType() string

	// AppendEvent appends one event to dst. data is JSON, see AppendLine. name is used only by
	// protocols that name their events.
	AppendEvent(dst []byte, name string, data []byte) []byte

	// AppendFailure appends the end of a stream that failed.
	AppendFailure(dst []byte, f Failure) []byte

	// AppendSilence appends a sign that more is to come.
	AppendSilence(dst []byte) []byte
}

// AppendLine appends JSON to dst as one line. A value in a client's or a model's own spelling may have line
// breaks, always between its tokens; they become spaces.
func AppendLine(dst, data []byte) []byte {
	begin := len(dst)
	dst = append(dst, data...)
	for i, b := range dst[begin:] {
		if b == '\n' || b == '\r' {
			dst[begin+i] = ' '
		}
	}
	return dst
}

// ServerSent are server-sent events in the layout of OpenAI and of our own routes.
type ServerSent struct{}

func (ServerSent) ContentType() string { return "text/event-stream" }

func (ServerSent) AppendEvent(dst []byte, name string, data []byte) []byte {
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	dst = AppendLine(append(dst, "data: "...), data)
	return append(dst, "\n\n"...)
}

func (s ServerSent) AppendFailure(dst []byte, f Failure) []byte {
	return s.AppendEvent(dst, "", f.json())
}

func (ServerSent) AppendSilence(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }
