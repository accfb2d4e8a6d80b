package main

import (
	"bytes"
	"os"
	"testing"
)

func TestThePageHasWhatTheBinaryContains(t *testing.T) {
	var want bytes.Buffer
	if err := write(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/licences.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/licences.md isn't what go.mod makes: go run ./internal/licences > docs/licences.md")
	}
}
