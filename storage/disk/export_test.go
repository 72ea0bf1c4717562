package disk

// BePatient reads a file as if its disk might stop answering.
func (f *File) BePatient() { f.patient = true }
