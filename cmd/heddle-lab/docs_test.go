package main

import (
	"testing"

	"heddle/internal/documents"
)

func TestDocumentsNameCommandsThatExist(t *testing.T) {
	documents.CheckCommands(t, "../..", newRoot(), 30)
}
