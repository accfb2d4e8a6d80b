package webui

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"strings"
	"testing"
)

// vendored are the files of others, as npm has them in uplot 1.6.32 (dist/, LICENSE).
var vendored = map[string]string{
	"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
	"uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
	"uPlot.LICENSE.txt": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
}

// What comes from others is what they published, and comes with its licence.
func TestFilesOfOthersAreUnchanged(t *testing.T) {
	names, err := fs.ReadDir(files, "static/vendor")
	if err != nil || len(names) != len(vendored) {
		t.Fatalf("%d files of others, and %d are known (%v)", len(names), len(vendored), err)
	}
	for name, want := range vendored {
		b, err := files.ReadFile("static/vendor/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has the checksum %x", name, sum)
		}
		if strings.HasSuffix(name, "LICENSE.txt") && !strings.Contains(string(b), "The MIT License") {
			t.Errorf("%s is no licence", name)
		}
	}
}
