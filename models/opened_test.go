package models_test

import (
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
	"tandem/models"
)

// measureDrafter opens a drafter and measures it.
func measureDrafter(source string) (models.Footprint, error) {
	f, err := models.OpenDrafter(source)
	if err != nil {
		return models.Footprint{}, err
	}
	return f.Drafter()
}

// measureHead opens a model and measures its head.
func measureHead(path string) (models.Footprint, error) {
	f, err := models.Open(path)
	if err != nil {
		return models.Footprint{}, err
	}
	return f.Head()
}

// readDefaultsOf opens a model and reads its defaults.
func readDefaultsOf(path string) (models.Defaults, error) {
	f, err := models.Open(path)
	if err != nil {
		return models.Defaults{}, err
	}
	return f.Defaults()
}

// loadTokenizer opens a model and reads its tokenizer.
func loadTokenizer(path string) (*tokenizer.Tokenizer, error) {
	f, err := models.Open(path)
	if err != nil {
		return nil, err
	}
	return f.Tokenizer()
}

// loadChatTemplate opens a model and reads its chat templates.
func loadChatTemplate(path string) (string, error) {
	f, err := models.Open(path)
	if err != nil {
		return "", err
	}
	return f.ChatTemplate()
}

// outline opens a model and returns its outline.
func outline(t *mlx.Thread, path string) (*models.Bundle, error) {
	f, err := models.Open(path)
	if err != nil {
		return nil, err
	}
	return f.Outline(t)
}

// isDrafter reports whether a folder holds a drafter that is no model.
func isDrafter(dir string) bool {
	f, err := models.Open(dir)
	return err == nil && f.IsDrafter()
}
