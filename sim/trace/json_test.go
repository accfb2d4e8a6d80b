package trace

import (
	"strings"
	"testing"
)

func TestTooMuchTextIsRefused(t *testing.T) {
	if text, err := readText(strings.NewReader("12345"), 5); err != nil || string(text) != "12345" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := readText(strings.NewReader("123456"), 5); err == nil || !strings.Contains(err.Error(), "more than 5 bytes") {
		t.Error(err)
	}
}
