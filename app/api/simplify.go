package api

import (
	"errors"
	"strings"

	"tandem/app/control"
	"tandem/app/model"
)

// templateRejects reports whether a template, which wrote text or failed, has no place for the
// messages as they are. It then refuses them, or leaves out some of what the system says. A template
// that reached a limit would reach it again.
func templateRejects(list []Message, text string, err error) bool {
	if err != nil {
		e, ok := errors.AsType[*control.Error](err)
		return ok && e.Code == control.CodeInvalid && !errors.Is(err, model.ErrTemplateLimit)
	}
	for _, m := range list {
		if m.Role != "system" {
			continue
		}
		var found bool
		if _, text, found = strings.Cut(text, strings.TrimSpace(m.Text())); !found {
			return true
		}
	}
	return false
}

// simplifyMessages returns messages for simpler templates. The system speaks only at the start, and
// the user quotes it later in a conversation. A user's text directly after a tool's result becomes
// part of the result. changed reports whether that changes anything.
func simplifyMessages(given []Message) (list []Message, changed bool) {
	for i, m := range given {
		if m.Role == "system" && i > 0 {
			m = NewMessage("user", "<system>\n"+m.Text()+"\n</system>")
			changed = true
		}
		n := len(list)
		switch {
		case m.Role == "user" && n > 0 && list[n-1].Role == "tool":
			changed = true
		case m.Role != "user" || n == 0 || list[n-1].Role != "user":
			list = append(list, m)
			continue
		}
		last := &list[n-1]
		last.Texts = append(last.Texts, m.Texts...)
	}
	return list, changed
}
