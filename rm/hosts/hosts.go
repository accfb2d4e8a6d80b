// Package hosts reads the lists of machines that may be nodes of the cluster and of those that must leave it (Hadoop:
// HostsFileReader), which yarn.resourcemanager.nodes.include-path and .exclude-path name. rm reads them for the leader.
//
// A list is a text file of host names or addresses between blanks and line ends, with comments from # to the end of the line.
// A file whose name ends in .xml has the form <hosts><host><name>a,b</name><timeout>seconds</timeout></host>…</hosts>.
package hosts

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Lists say which machines may be nodes. The zero value admits all. A machine has several names: the node's own, and
// the address that it calls from.
type Lists struct {
	include map[string]bool
	exclude map[string]time.Duration // time to finish its work; Unset if the list names none
}

// Unset is the timeout of an excluded machine if the list names none.
const Unset time.Duration = -1

// Files names the files of both lists; "" is an empty list.
type Files struct{ Include, Exclude string }

// Read reads both lists.
func (f Files) Read() (*Lists, error) {
	l := &Lists{include: map[string]bool{}, exclude: map[string]time.Duration{}}
	err := errors.Join(
		read("yarn.resourcemanager.nodes.include-path", f.Include, func(name string, _ time.Duration) { l.include[name] = true }),
		read("yarn.resourcemanager.nodes.exclude-path", f.Exclude, func(name string, t time.Duration) { l.exclude[name] = t }),
	)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func read(key, file string, add func(string, time.Duration)) error {
	if file == "" {
		return nil
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %s does not exist; create it (it may be empty) or unset the key: %w", key, file, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if !strings.HasSuffix(file, ".xml") {
		parseText(b, add)
		return nil
	}
	if err := parseXML(b, add); err != nil {
		return fmt.Errorf("%s: %s: %w", key, file, err)
	}
	return nil
}

func parseText(b []byte, add func(string, time.Duration)) {
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(line, "#")
		for _, name := range strings.Fields(line) {
			add(strings.ToLower(name), Unset)
		}
	}
}

func parseXML(b []byte, add func(string, time.Duration)) error {
	var list struct {
		XMLName xml.Name `xml:"hosts"`
		Hosts   []struct {
			Name    string `xml:"name"`
			Timeout string `xml:"timeout"`
		} `xml:"host"`
	}
	d := xml.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&list); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it has no <hosts> element")
		}
		return err
	}
	for _, h := range list.Hosts {
		timeout := Unset
		if t := strings.TrimSpace(h.Timeout); t != "" {
			secs, err := strconv.ParseInt(t, 10, 32)
			if err != nil {
				return fmt.Errorf("the timeout of host %s is %q: it must be a number of seconds", strings.TrimSpace(h.Name), t)
			}
			timeout = time.Duration(max(secs, -1)) * time.Second
			if secs < 0 {
				timeout = Unset
			}
		}
		for name := range strings.SplitSeq(h.Name, ",") {
			if name = strings.TrimSpace(name); name != "" {
				add(strings.ToLower(name), timeout)
			}
		}
	}
	return nil
}

// Admits reports whether a machine may be a node.
func (l *Lists) Admits(names ...string) bool {
	if _, excluded := l.Excluded(names...); excluded {
		return false
	}
	return l == nil || len(l.include) == 0 || slices.ContainsFunc(names, func(n string) bool { return l.include[strings.ToLower(n)] })
}

// Excluded reports whether a machine must leave, and how long it has to finish its work, or Unset.
func (l *Lists) Excluded(names ...string) (timeout time.Duration, excluded bool) {
	if l == nil {
		return Unset, false
	}
	for _, n := range names {
		if t, ok := l.exclude[strings.ToLower(n)]; ok {
			return t, true
		}
	}
	return Unset, false
}
