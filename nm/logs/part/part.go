// Package part serves parts of a log over HTTP: a range of its bytes, or the lines that have a text. Logs are hostile, and their bytes are served as
// text that no browser takes for anything else. A log of any size costs no more memory than a small one.
package part

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"heddle/nm/logs"
	"heddle/yarn/rest"
	"heddle/yarn/rest/daemon"
)

// Bounds of one search.
const (
	maxFind    = 200      // bytes of the text
	maxMatches = 100      // lines
	maxScan    = 64 << 20 // bytes
	maxLine    = 300      // bytes of a line that are shown
	lineBuffer = 32 << 10 // longer lines are searched in pieces
)

// Stall is how long a client may take nothing of an answer.
const Stall = 30 * time.Second

// Wanted holds what a client wants of a log.
type Wanted struct {
	Start, End int64 // range of bytes; negative ones count from the end
	whole      bool  // no end
	Find       string
	Download   bool
}

// Parse reads the parameters start, end, find and download. ok is false if there are none: the client wants YARN's form.
func Parse(q url.Values) (w Wanted, ok bool, err error) {
	w.whole = true
	for name, to := range map[string]*int64{"start": &w.Start, "end": &w.End} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		ok = true
		if *to, err = strconv.ParseInt(text, 10, 64); err != nil {
			return w, ok, rest.BadRequest("%s must be a number of bytes, from the end if it is negative, and not %.40q", name,
				text)
		}
		w.whole = w.whole && name != "end"
	}
	if w.Find = q.Get("find"); len(w.Find) > maxFind {
		return w, true, rest.BadRequest("find has %d bytes, and may have %d", len(w.Find), maxFind)
	}
	w.Download = q.Get("download") == "true"
	return w, ok || w.Find != "" || w.Download, nil
}

// Log is an open log. Content is at its beginning.
type Log struct {
	Name    string
	Length  int64
	Growing bool // its container runs
	Content io.Reader
}

// Serve answers with what a client wants of a log. Headers tell its length (Log-Length), where the answer begins (Log-Start), and whether the log may
// still grow (Log-Growing). It fails before anything is written, or aborts the answer.
func Serve(w http.ResponseWriter, r *http.Request, want Wanted, log Log) error {
	if want.whole {
		want.End = max(log.Length, want.Start) // a follower may be ahead of a log that was cut
	}
	offset, count, err := logs.Window(log.Length, want.Start, want.End)
	if err != nil {
		return rest.BadRequest("%s", err)
	}
	if err := logs.Skip(log.Content, offset); err != nil {
		return fmt.Errorf("log %s: %w", log.Name, err)
	}
	h := w.Header()
	daemon.Quarantine(h)
	h.Set("Cache-Control", "no-store")
	h.Set("Log-Length", strconv.FormatInt(log.Length, 10))
	h.Set("Log-Start", strconv.FormatInt(offset, 10))
	h.Set("Log-Growing", strconv.FormatBool(log.Growing))
	if want.Find != "" {
		return search(w, log, want.Find, offset, count)
	}
	h.Set("Content-Type", rest.TextType)
	if want.Download {
		Attach(h, log.Name)
	}
	if n, err := io.CopyN(Patient(w), log.Content, count); err != nil || n < count {
		rest.Abort(w) // its owner has made the log shorter
	}
	return nil
}

// Attach has a browser save an answer as a file.
func Attach(h http.Header, name string) {
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+fileName(name)+`"`)
}

// fileName returns a log's name without characters that could end a header's quotes or lead elsewhere.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/%;`, r) {
			return '_'
		}
		return r
	}, name)
}

// Patient writes an answer, and gives up once the client takes nothing for Stall.
func Patient(w http.ResponseWriter) io.Writer {
	return patient{w, http.NewResponseController(w)}
}

type patient struct {
	w io.Writer
	c *http.ResponseController
}

func (p patient) Write(b []byte) (int, error) {
	_ = p.c.SetWriteDeadline(time.Now().Add(Stall)) // a recorder of tests has none
	return p.w.Write(b)
}

// Matches are the lines of a log that have a text, in any case of its letters.
type Matches struct {
	Match []Match `yarn:"match"`
	// Next is where to continue; -1: there are no more.
	Next int64 `yarn:"next"`
}

// Match is a line.
type Match struct {
	At   int64  `yarn:"at"` // of its first byte in the log
	Line string `yarn:"line"`
}

func search(w http.ResponseWriter, log Log, text string, offset, count int64) error {
	found, err := find(log.Content, text, offset, count)
	if err != nil {
		return fmt.Errorf("log %s: %w", log.Name, err)
	}
	w.Header().Set("Content-Type", rest.JSON.ContentType())
	_, err = w.Write(rest.Document{Root: "matches", Style: rest.Natural, Value: found}.JSON())
	return err
}

// find searches count bytes of a log, of which the first is at offset.
func find(content io.Reader, text string, offset, count int64) (out Matches, err error) {
	want := bytes.ToLower([]byte(text))
	in := bufio.NewReaderSize(io.LimitReader(content, min(count, maxScan)), lineBuffer)
	out.Next = -1
	if count > maxScan {
		out.Next = offset + maxScan
	}
	for {
		line, err := in.ReadSlice('\n')
		if i := bytes.Index(bytes.ToLower(line), want); i >= 0 {
			if len(out.Match) == maxMatches {
				out.Next = offset
				return out, nil
			}
			out.Match = append(out.Match, Match{offset, around(line, i)})
		}
		offset += int64(len(line))
		switch err {
		case nil, bufio.ErrBufferFull:
		case io.EOF:
			return out, nil
		default:
			return out, err
		}
	}
}

// around returns the part of a line that is shown. It has the found text, which begins at i.
func around(line []byte, i int) string {
	line = bytes.TrimRight(line, "\r\n")
	from := 0
	if i > maxLine/2 {
		from = i - maxLine/3
	}
	to := min(len(line), from+maxLine)
	for from < to && !utf8.RuneStart(line[from]) {
		from++
	}
	return strings.ToValidUTF8(string(line[min(from, to):to]), "\ufffd")
}
