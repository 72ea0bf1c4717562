package wire

// A Framing is how a stream is laid out for its protocol's programs.
type Framing interface {
	ContentType() string

	// appendEvent appends one event to dst: data, in one line, and the event's
	// name where the protocol has names.
	AppendEvent(dst []byte, name string, data []byte) []byte

	// appendFailure appends what ends a stream that failed.
	AppendFailure(dst []byte, f Failure) []byte

	// appendSilence appends what tells a program that something is to come yet.
	AppendSilence(dst []byte) []byte
}

// ServerSent are server-sent events as OpenAI has them, and our own routes.
type ServerSent struct{}

func (ServerSent) ContentType() string { return "text/event-stream" }

func (ServerSent) AppendEvent(dst []byte, name string, data []byte) []byte {
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	dst = append(append(dst, "data: "...), data...)
	return append(dst, "\n\n"...)
}

func (s ServerSent) AppendFailure(dst []byte, f Failure) []byte {
	return s.AppendEvent(dst, "", f.json())
}

func (ServerSent) AppendSilence(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }
