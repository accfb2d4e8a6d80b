package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"heddle/am/mapreduce"
	"heddle/am/mapreduce/job"
	"heddle/internal/plain"
)

// mrProgress shows a job's progress: as a bar on a terminal, as lines elsewhere.
type mrProgress struct {
	w       io.Writer
	quiet   bool
	bar     bool
	shown   string
	state   string
	url     bool
	attempt int32
	failed  int             // failures shown so far
	told    map[string]bool // messages shown so far
	last    string
	id      string
	away    bool
}

func newProgress(w io.Writer, quiet bool) *mrProgress {
	p := &mrProgress{w: w, quiet: quiet}
	if f, ok := w.(*os.File); ok {
		_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
		p.bar = err == nil
	}
	return p
}

func (p *mrProgress) line(format string, args ...any) {
	if p.quiet {
		return
	}
	p.wipe()
	fmt.Fprintln(p.w, plain.Text(fmt.Sprintf(format, args...)))
}

func (p *mrProgress) wipe() {
	if p.shown != "" {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = ""
	}
}

func (p *mrProgress) tell(s mapreduce.Progress) {
	if s.Away {
		p.away = true
		p.line("no ResourceManager answers; %s may still be running", p.id)
		return
	}
	if p.away {
		p.away = false
		p.line("the ResourceManager is back")
	}
	r := s.Report
	if state := r.State.String(); state != p.state {
		if p.state = state; state == "ACCEPTED" || state == "RUNNING" {
			p.line("%v is %s", r.ID, state)
		}
	}
	if !p.url && r.TrackingURL != "" && r.TrackingURL != "N/A" {
		p.url = true
		p.line("tracking URL: %s", r.TrackingURL)
	}
	if a := r.Attempt.Attempt; a > p.attempt {
		if p.attempt = a; a > 1 {
			p.failed, p.last = 0, ""
			p.line("attempt %d of the application begins", a)
		}
	}
	if !s.Known {
		return
	}
	p.failures(s.Status.Failures)
	st := s.Status
	if p.bar && !p.quiet {
		text := fmt.Sprintf("map %s %3.0f%%", bar(st.Maps), 100*st.Maps.Progress)
		if st.Reduces.Total > 0 {
			text += fmt.Sprintf("  reduce %s %3.0f%%", bar(st.Reduces), 100*st.Reduces.Progress)
		}
		if text != p.shown {
			p.wipe()
			fmt.Fprint(p.w, text)
			p.shown = text
		}
		return
	}
	// Hadoop's job client prints this line. Steps of ten percent suffice in a file.
	m, rd := int(st.Maps.Progress*10)*10, int(st.Reduces.Progress*10)*10
	if st.Reduces.Total == 0 {
		rd = 0
	}
	if text := fmt.Sprintf("map %d%% reduce %d%%", m, rd); text != p.last {
		p.last = text
		p.line(" %s", text)
	}
}

// failures shows tasks that have failed since the last call. It doesn't repeat a message.
func (p *mrProgress) failures(list []job.Failure) {
	for _, f := range list[min(p.failed, len(list)):] {
		if said := f.Error + "\n" + strings.Join(f.Stderr, "\n"); p.told[said] {
			p.line("failed: %s on %s, as before", f.Task, f.Host)
		} else {
			if p.told == nil {
				p.told = map[string]bool{}
			}
			p.told[said] = true
			p.line("failed: %v", f)
		}
	}
	p.failed = max(p.failed, len(list))
}

// reason returns why a job failed, without what was shown as a task's failure.
func (p *mrProgress) reason(why string, list []job.Failure) string {
	why = strings.TrimSpace(why)
	for _, f := range list {
		if head, ok := strings.CutSuffix(why, ", at last "+f.String()); ok && !p.quiet {
			return head + " (see above)"
		}
	}
	return why
}

func (p *mrProgress) end() {
	if p.shown != "" {
		fmt.Fprintln(p.w)
		p.shown = ""
	}
}

func bar(s job.Stage) string {
	const width = 20
	n := int(s.Progress * width)
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", width-n) + "]"
}

func bytesText(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}} {
		if n >= u.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
