package served

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/am/mapreduce/lines"
	"heddle/yarn/records"
	"heddle/yarn/writable"
)

var (
	app    = records.ApplicationID{ClusterTimestamp: 1, ID: 2}
	name   = Name(records.AttemptID{App: app, Attempt: 1}, 3, 0)
	secret = Secret([]byte("key"))
)

// part is how a service sends lines to a reduce.
func part(name string, reduce int, text string) []byte {
	b := writable.AppendText(nil, name)
	b = writable.AppendVLong(b, int64(len(text))+trailer)
	b = writable.AppendVLong(b, int64(len(text)))
	b = writable.AppendVLong(b, int64(reduce))
	b = append(b, text...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum([]byte(text), lines.Castagnoli))
}

func reply(body []byte) *http.Response {
	h := http.Header{}
	h.Set("ReplyHash", sign(secret, "hash"))
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Header: h, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}
}

func TestNamesOfOutputs(t *testing.T) {
	if want := "attempt_1_0002_m_000003_0"; name != want {
		t.Errorf("%s instead of %s", name, want)
	}
	if got := Name(records.AttemptID{App: app, Attempt: 2}, 3, 4); got != "attempt_1_0002_m_000003_1004" {
		t.Errorf("%s could be that of another ApplicationMaster", got)
	}
}

func TestPortOfTheService(t *testing.T) {
	for text, want := range map[string]int{
		"AAA0+g==": 13562, "": 0, "AAA0": 0, "?": 0, base64.StdEncoding.EncodeToString([]byte{0, 1, 0, 0}): 0,
	} {
		got := Port(func(key string) string {
			if key != "NM_AUX_SERVICE_mapreduce_shuffle" {
				t.Errorf("asked for %s", key)
			}
			return text
		})
		if got != want {
			t.Errorf("%q: %d instead of %d", text, got, want)
		}
	}
}

// The index is SpillRecord's: of two parts, of 3 and no bytes.
func TestIndexOfAnOutput(t *testing.T) {
	got := Index([]lines.Segment{{Offset: 0, Length: 3}, {Offset: 7, Length: 0}})
	want := strings.Repeat("00", 15) + "03" + strings.Repeat("00", 7) + "07" + strings.Repeat("00", 7) + "07" + strings.Repeat("00", 15) + "04"
	if len(got) != 56 || hex.EncodeToString(got[:48]) != want {
		t.Errorf("%x", got)
	}
	if sum := binary.BigEndian.Uint64(got[48:]); sum != uint64(crc32.ChecksumIEEE(got[:48])) {
		t.Errorf("checksum %x", sum)
	}
}

func TestLeaveMovesTheOutput(t *testing.T) {
	local := t.TempDir()
	f := lines.File{Path: filepath.Join(local, "spill0"), Segments: []lines.Segment{{Length: 2}}}
	if err := os.WriteFile(f.Path, []byte("a\n1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Leave(local, name, &f); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(local, "output", name)
	data, err := os.ReadFile(filepath.Join(dir, "file.out"))
	if err != nil || string(data) != "a\n1234" || f.Path != filepath.Join(dir, "file.out") {
		t.Errorf("%q at %s, %v", data, f.Path, err)
	}
	index, err := os.ReadFile(filepath.Join(dir, "file.out.index"))
	if err != nil || !bytes.Equal(index, Index(f.Segments)) {
		t.Errorf("%x, %v", index, err)
	}
	info, err := os.Stat(f.Path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v: the NodeManager's group can't read it", info.Mode(), err)
	}
}

func TestAnswersOfServices(t *testing.T) {
	good := part(name, 1, "a\nb\n")
	p, err := answer(reply(good), "hash", secret, name, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Sum(); err == nil {
		t.Error("a sum before the lines")
	}
	text, err := io.ReadAll(p)
	if err != nil || string(text) != "a\nb\n" || p.Length != 4 {
		t.Errorf("%q of %d bytes, %v", text, p.Length, err)
	}
	if sum, err := p.Sum(); err != nil || sum != crc32.Checksum(text, lines.Castagnoli) {
		t.Errorf("%x, %v", sum, err)
	}
	for what, bad := range map[string][]byte{
		"another map": part(strings.Replace(name, "3", "4", 1), 1, "a\n"), "another reduce": part(name, 2, "a\n"), "nothing": nil,
		"no end": good[:len(good)-5], "more": append(bytes.Clone(good), 1), "half a header": good[:len(name)+2],
	} {
		a := reply(bad)
		if what == "no end" {
			a.ContentLength = int64(len(bad))
		}
		if _, err := answer(a, "hash", secret, name, 1); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	if _, err := answer(reply(good), "other", secret, name, 1); err == nil {
		t.Error("an answer to another question is taken")
	}
	for status, refused := range map[int]bool{400: true, 401: true, 500: true, 429: false} {
		a := reply([]byte("why"))
		a.StatusCode, a.Status = status, fmt.Sprint(status)
		_, err := answer(a, "hash", secret, name, 1)
		var r *Refusal
		if err == nil || errors.As(err, &r) != refused || refused && r.Text != "why" {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// FuzzAnswer reads what a service may send: no more is read than there is, and what is taken is what was asked for.
func FuzzAnswer(f *testing.F) {
	f.Add(part(name, 1, "a\nb\n"), int64(0))
	f.Add(part(name, 1, ""), int64(0))
	f.Add(part(name, 2, "a\n"), int64(1))
	f.Add([]byte{}, int64(-1))
	f.Add(append(writable.AppendText(nil, name), 0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), int64(0))
	f.Fuzz(func(t *testing.T, body []byte, off int64) {
		a := reply(body)
		a.ContentLength += off
		p, err := answer(a, "hash", secret, name, 1)
		if err != nil {
			return
		}
		text, err := io.ReadAll(p)
		if err != nil || int64(len(text)) != p.Length {
			return // it ends early, as the caller sees by the length
		}
		sum, err := p.Sum()
		if err != nil {
			return
		}
		if want := part(name, 1, string(text)); off == 0 && sum == crc32.Checksum(text, lines.Castagnoli) && !bytes.HasSuffix(body, want[len(want)-len(text)-trailer:]) {
			t.Errorf("%q of %q", text, body)
		}
	})
}
