package dialect

// A source keeps the text of an answer and the places of its calls. The rest of the text is plain
// text, thoughts, and the tags and white space next to these.
type source struct {
	text  []byte
	at    int      // bytes of text that count as read; fewer while some are read again
	calls [][2]int // the beginning and end of each call in text; end < 0 while the call goes on
	open  bool     // the last call is the last thing that was read
}

// beginCall begins a call that starts n bytes before the current place.
func (s *source) beginCall(n int) {
	from := max(0, s.at-n)
	if s.open {
		s.calls[len(s.calls)-1][1] = from
	}
	s.calls, s.open = append(s.calls, [2]int{from, -1}), true
}

// endCall ends the last call at the current place, unless other text was read since.
func (s *source) endCall() {
	if s.open {
		s.calls[len(s.calls)-1][1] = s.at
	}
}

// unread marks the last n bytes as not read, and takes them from a call that has ended.
func (s *source) unread(n int) {
	s.at -= n
	if last := len(s.calls) - 1; last >= 0 {
		s.calls[last][1] = min(s.calls[last][1], s.at)
	}
}

// takeCall removes the last call, and returns its text. That includes the call's tags and the white
// space before them.
func (s *source) takeCall() []byte {
	last := len(s.calls) - 1
	from := s.calls[last][0]
	s.calls, s.open = s.calls[:last], false
	return s.text[from:s.at]
}
