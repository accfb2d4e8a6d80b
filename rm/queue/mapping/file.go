package mapping

import (
	"fmt"
	"path/filepath"
	"strings"

	"heddle/internal/bounded"
)

// Keys of the file with rules, without YARN's prefix. TextKey has its text where that was read with the other settings.
const (
	FileKey = "mapping-rule-json-file"
	TextKey = FileKey + ".text"
)

// Text returns the text of the file that settings name, or that they have. A relative path begins in dir.
func Text(dir string, settings map[string]string) (string, error) {
	if text, ok := settings[TextKey]; ok {
		return text, nil
	}
	path := strings.TrimSpace(settings[FileKey])
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	f, err := bounded.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it is only read
	text, err := bounded.ReadAll(f, MaxJSON)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return string(text), nil
}

// Keep adds the text of the file to settings that need it, whose keys begin with prefix. So they mean the same on another machine, and change when the file does.
func Keep(dir, prefix string, settings map[string]string) error {
	if strings.TrimSpace(settings[prefix+"mapping-rule-format"]) != "json" || settings[prefix+"mapping-rule-json"] != "" || settings[prefix+FileKey] == "" {
		return nil
	}
	text, err := Text(dir, map[string]string{FileKey: settings[prefix+FileKey]})
	if err == nil {
		settings[prefix+TextKey] = text
	}
	return err
}
