// Package kerberostest makes keytabs for tests, and starts KDCs.
package kerberostest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Entry is a key of a keytab.
type Entry struct {
	Principal string
	Version   byte
	Cipher    uint16
	Key       []byte
}

// Write writes a keytab of version 2, as MIT's ktutil does.
func Write(t testing.TB, path string, entries []Entry) {
	t.Helper()
	out := bytes.NewBuffer([]byte{5, 2})
	for _, e := range entries {
		name, realm, _ := strings.Cut(e.Principal, "@")
		parts := strings.Split(name, "/")
		one := binary.BigEndian.AppendUint16(nil, uint16(len(parts)))
		for _, part := range append([]string{realm}, parts...) {
			one = append(binary.BigEndian.AppendUint16(one, uint16(len(part))), part...)
		}
		one = append(one, 0, 0, 0, 1, 0, 0, 0, 0, e.Version)
		one = binary.BigEndian.AppendUint16(one, e.Cipher)
		one = append(binary.BigEndian.AppendUint16(one, uint16(len(e.Key))), e.Key...)
		one = binary.BigEndian.AppendUint32(one, uint32(e.Version))
		out.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(one))), one...))
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

var keyLine = regexp.MustCompile(`^\s+(\d+) (\S+) \(aes(256|128)-\S+\)\s+\(0x([0-9a-f]+)\)`)

// Recorded writes a keytab with the keys that a file lists as klist -K does, and returns its path. The file has parts for several realms, each below a comment;
// part is a word of that comment, and "" is what comes before all of them.
func Recorded(t testing.TB, file, part string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var entries []Entry
	at := ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			at = line
		}
		m := keyLine.FindStringSubmatch(line)
		if m == nil || (part == "") != (at == "") || !strings.Contains(at, part) {
			continue
		}
		version, err1 := strconv.ParseUint(m[1], 10, 8)
		key, err2 := hex.DecodeString(m[4])
		if err1 != nil || err2 != nil {
			t.Fatalf("%s: %q", file, line)
		}
		entries = append(entries, Entry{m[2], byte(version), map[string]uint16{"128": 17, "256": 18}[m[3]], key})
	}
	path := filepath.Join(t.TempDir(), "keytab")
	Write(t, path, entries)
	return path
}
