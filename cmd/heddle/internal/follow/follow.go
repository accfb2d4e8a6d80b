// Package follow prints the logs of a container while it writes them, as tail -f does. It asks the ResourceManager, which knows where they are.
package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/restlist"
	"heddle/yarn/records"
)

// Bounds: how much of a log is printed that was there before, a piece of a log that one question brings, in bytes, and how many logs are followed.
const (
	before = 64 << 10
	piece  = 1 << 20
	most   = 20
)

// Asker asks the active ResourceManager.
type Asker interface {
	REST(ctx context.Context, r cluster.Request) (*cluster.Answer, error)
}

// Logs are those of a container.
type Logs struct {
	From      Asker
	Container string
	Wanted    func(name string) bool
	Every     time.Duration // from one look to the next
	Out       io.Writer

	at   map[string]int64 // how far each log is printed
	last string           // the log that was printed last
}

// Of follows the logs of the one container that is named.
func Of(ctx context.Context, from Asker, containers []records.ContainerID, wanted func(name string) bool, out io.Writer) error {
	if len(containers) != 1 {
		return errors.New("-follow follows one container: name it with -containerId, or with -am 1")
	}
	l := Logs{From: from, Container: containers[0].String(), Wanted: wanted, Every: time.Second, Out: out}
	return l.Follow(ctx)
}

// Follow prints the ends of the logs, and what comes, until the container has ended and everything is printed.
func (l *Logs) Follow(ctx context.Context) error {
	l.at = map[string]int64{}
	tick := time.NewTicker(l.Every)
	defer tick.Stop()
	for {
		names, running, err := l.list(ctx)
		if err != nil {
			return err
		}
		more := false
		for _, name := range names {
			some, err := l.print(ctx, name)
			if err != nil {
				return err
			}
			more = more || some
		}
		if !running && !more {
			return nil
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (l *Logs) path(name string) string {
	path := "/ws/v1/heddle/containers/" + url.PathEscape(l.Container) + "/logs"
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	return path
}

// list returns the names of the container's logs that are wanted, and whether it still runs.
func (l *Logs) list(ctx context.Context) (names []string, running bool, err error) {
	a, err := l.From.REST(ctx, cluster.Request{Path: l.path("")})
	if err != nil {
		return nil, false, fmt.Errorf("logs of %s: %w", l.Container, err)
	}
	names, running, err = read(a.Body)
	if err != nil {
		return nil, false, fmt.Errorf("logs of %s: %w", l.Container, err)
	}
	kept := names[:0]
	for _, name := range names {
		if l.Wanted(name) {
			kept = append(kept, name)
		}
	}
	if len(kept) > most {
		return nil, false, fmt.Errorf("%s has %d logs, and %d can be followed: choose some with -log_files", l.Container, len(kept), most)
	}
	return kept, running, nil
}

// read reads a list of logs.
func read(body []byte) (names []string, running bool, err error) {
	var answer struct {
		Logs struct {
			Running bool
			Info    restlist.List[struct {
				Files restlist.List[struct {
					Name string `json:"fileName"`
				}] `json:"containerLogInfo"`
			}] `json:"containerLogsInfo"`
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, false, err
	}
	seen := map[string]bool{}
	for _, info := range answer.Logs.Info {
		for _, f := range info.Files {
			if !seen[f.Name] {
				seen[f.Name], names = true, append(names, f.Name)
			}
		}
	}
	return names, answer.Logs.Running, nil
}

// print prints what a log has more than was printed. more says that there is more than it has printed.
func (l *Logs) print(ctx context.Context, name string) (more bool, err error) {
	at, known := l.at[name]
	q := url.Values{"start": {strconv.FormatInt(at, 10)}, "end": {strconv.FormatInt(at+piece, 10)}}
	if !known {
		q = url.Values{"start": {strconv.Itoa(-before)}}
	}
	a, err := l.From.REST(ctx, cluster.Request{Path: l.path(name), Query: q})
	if err != nil {
		return false, fmt.Errorf("log %s of %s: %w", name, l.Container, err)
	}
	start, length, err := place(a.Header)
	if err != nil {
		return false, fmt.Errorf("log %s of %s: %w", name, l.Container, err)
	}
	if known && length < at { // it was cut, and begins again
		l.at[name] = 0
		return true, nil
	}
	l.at[name] = start + int64(len(a.Body))
	if len(a.Body) == 0 {
		return false, nil
	}
	if l.last != name {
		if _, err := fmt.Fprintf(l.Out, "==> %s <==\n", name); err != nil {
			return false, err
		}
		l.last = name
	}
	_, err = l.Out.Write(a.Body)
	return l.at[name] < length, err
}

// place reads where an answer begins, and how long the log is.
func place(h http.Header) (start, length int64, err error) {
	if start, err = strconv.ParseInt(h.Get("Log-Start"), 10, 64); err == nil {
		length, err = strconv.ParseInt(h.Get("Log-Length"), 10, 64)
	}
	if err != nil || start < 0 {
		return 0, 0, errors.New("the server doesn't say where its answer begins: it is none of Heddle's")
	}
	return start, length, nil
}
