package launch

import (
	"errors"
	"os"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"heddle/internal/userfiles"
)

// Tails has the ends of the logs in which a failed container may have explained its failure.
type Tails struct {
	Prelaunch  string   // end of prelaunch.err
	HasErr     bool     // prelaunch.err exists
	ErrorFiles []string // names of files that match the pattern of error files, at most maxErrorFiles
	ErrorName  string   // name of the most recently written one
	ErrorText  string   // end of that one
}

// maxErrorFiles is how many names of error files are reported.
const maxErrorFiles = 100

// ReadTails reads a container's log folder, in which its user may have put anything. Only regular files of user uid
// count. pattern is yarn.nodemanager.container.stderr.pattern, a glob with alternatives in braces. max bounds the
// length of a tail in bytes.
func ReadTails(logs *userfiles.Dir, uid int, pattern string, max int64) Tails {
	var t Tails
	if info, err := logs.Stat(PrelaunchErr); err == nil && info.Mode().IsRegular() {
		t.HasErr = true
		t.Prelaunch = tail(logs, uid, PrelaunchErr, max)
	}
	entries, err := logs.List()
	if err != nil && !errors.Is(err, userfiles.ErrTooMany) {
		return t
	}
	patterns := alternatives(pattern)
	var newest time.Time
	for _, info := range entries {
		if !matches(patterns, info.Name()) || !info.Mode().IsRegular() {
			continue
		}
		if len(t.ErrorFiles) < maxErrorFiles {
			t.ErrorFiles = append(t.ErrorFiles, info.Name())
		}
		if t.ErrorName == "" || info.ModTime().After(newest) {
			newest, t.ErrorName = info.ModTime(), info.Name()
		}
	}
	if t.ErrorName != "" {
		t.ErrorText = tail(logs, uid, t.ErrorName, max)
	}
	return t
}

// tail returns the last bytes of a file, or "". It begins with a whole character. As in Java, invalid UTF-8 becomes
// U+FFFD.
func tail(logs *userfiles.Dir, uid int, name string, max int64) string {
	f, err := logs.Open(uid, name)
	if err != nil {
		return ""
	}
	defer f.Close()
	return tailOf(f, max)
}

func tailOf(f *os.File, max int64) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	length := min(info.Size(), max)
	b := make([]byte, length)
	n, _ := f.ReadAt(b, info.Size()-length) // the file may grow or shrink; use what was read
	b = b[:n]
	if length < info.Size() {
		b = fromRune(b)
	}
	return strings.ToValidUTF8(string(b), string(utf8.RuneError))
}

// fromRune drops the rest of a character that was cut.
func fromRune(b []byte) []byte {
	for i := 0; i < len(b) && i < utf8.UTFMax-1; i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}

// alternatives expands the braces of a glob.
func alternatives(pattern string) []string {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}
	}
	shut := strings.IndexByte(pattern[open:], '}')
	if shut < 0 {
		return []string{pattern}
	}
	shut += open
	var out []string
	for _, a := range strings.Split(pattern[open+1:shut], ",") {
		out = append(out, alternatives(pattern[:open]+a+pattern[shut+1:])...)
	}
	return out
}

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); err == nil && ok {
			return true
		}
	}
	return false
}
