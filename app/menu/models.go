package menu

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"tandem/app/control"
)

// models fills the rows of the models: first those in memory, each with a submenu and rows that it
// keeps, then the others, which a click loads and chooses.
func (m *Menu) models(before *Menu, v View) {
	st := v.State
	if st == nil || len(st.Models) == 0 && len(st.InMemory) == 0 {
		m.show(ModelHead, "No models yet")
		return
	}
	m.show(ModelHead, "Model")
	var ids, shown []string
	for _, l := range st.InMemory {
		ids = append(ids, l.ID)
	}
	places := assignSlots(before.abouts(Residents+Unload, maxResidents, residentRows), ids)
	for i, l := range st.InMemory {
		if places[i] < 0 {
			continue
		}
		m.resident(Residents+Slot(places[i])*residentRows, l, l.ID == st.Choice)
		shown = append(shown, l.ID)
	}
	n, more := Slot(0), 0
	for _, x := range st.Models {
		if slices.Contains(shown, x.ID) {
			continue
		}
		if n == maxModels {
			more++
			continue
		}
		title := x.ID
		if l := st.Resident(x.ID); l != nil {
			title += weight(*l)
		} else if x.LoadMS > 0 {
			title += ", ready in " + roughly(time.Duration(x.LoadMS)*time.Millisecond)
		}
		m.showAction(Models+n, title, Load, x.ID)
		m.Rows[Models+n].Checked = x.ID == st.Choice
		n++
	}
	if more > 0 {
		m.showAction(MoreModels, "All Models…", OpenWindow, "#/models")
	}
}

// resident fills the rows of a model in memory. One that a request uses cannot be unloaded.
func (m *Menu) resident(row Slot, l control.Loaded, isChoice bool) {
	m.open(row, l.ID+weight(l))
	m.Rows[row].Checked = isChoice
	if !isChoice {
		m.showAction(row+Choose, "Choose", Load, l.ID)
	}
	m.showAction(row+Unload, "Unload", UnloadModel, l.ID)
	m.Rows[row+Unload].Enabled = !l.InUse
	if l.Drafting != "" {
		m.showAction(row+DraftAhead, "Speculative Decoding", SetDrafting, l.ID)
		m.Rows[row+DraftAhead].Checked = l.Drafting == control.DraftingOn
	}
	m.showAction(row+SetModel, "Settings…", OpenWindow, "#/models/?settings="+url.QueryEscape(l.ID))
}

// weight returns the memory that a model takes, or "" if it is not known.
func weight(l control.Loaded) string {
	if l.Bytes == 0 {
		return ""
	}
	return ", " + control.MemorySize(l.Bytes)
}

// downloads fills the rows of the downloads, which show their progress or what stops them.
func (m *Menu) downloads(v View) {
	if v.State == nil {
		return
	}
	for i, d := range v.State.Downloads {
		if i == maxDownloads {
			break
		}
		m.showAction(Downloads+Slot(i), download(d), OpenWindow, "#/models")
	}
}

func download(d control.Download) string {
	title, moves := "Downloading "+d.ID, false
	switch {
	case d.Error != "":
		return d.ID + ": " + d.Error
	case d.Paused:
		title = "Paused: " + d.ID
	case d.Waiting != "":
		title = d.ID + ": " + d.Waiting
	default:
		moves = true
	}
	if d.Total == 0 {
		return title
	}
	title = fmt.Sprintf("%s, %d %%", title, d.Done*100/d.Total)
	if moves && d.PerSecond > 0 {
		seconds := time.Duration((d.Total - d.Done) / d.PerSecond)
		title += fmt.Sprintf(", %s left", roughly(seconds*time.Second))
	}
	return title
}
