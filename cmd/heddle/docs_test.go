package main

import (
	"testing"

	"heddle/internal/documents"
)

// Documents name no command and no option that isn't there.
func TestDocumentsNameCommandsThatExist(t *testing.T) {
	documents.CheckCommands(t, "../..", newRoot(), 100)
}
