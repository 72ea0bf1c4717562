package home

func excludeFromTimeMachine(string) error { return nil }
