package server

// A framing is how a stream is laid out for its protocol's programs.
type framing interface {
	contentType() string

	// appendEvent appends one event to dst: data, in one line, and the event's
	// name where the protocol has names.
	appendEvent(dst []byte, name string, data []byte) []byte

	// appendFailure appends what ends a stream that failed.
	appendFailure(dst []byte, f failure) []byte

	// appendSilence appends what tells a program that something is to come yet.
	appendSilence(dst []byte) []byte
}

// serverSent are server-sent events as OpenAI has them, and our own routes.
type serverSent struct{}

func (serverSent) contentType() string { return "text/event-stream" }

func (serverSent) appendEvent(dst []byte, name string, data []byte) []byte {
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	dst = append(append(dst, "data: "...), data...)
	return append(dst, "\n\n"...)
}

func (s serverSent) appendFailure(dst []byte, f failure) []byte {
	return s.appendEvent(dst, "", f.json())
}

func (serverSent) appendSilence(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }
