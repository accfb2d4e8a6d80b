package eventlog

import (
	"fmt"
	"io"
	"time"
)

// Why tells what an application waits for at the point that the replay has come to.
func (p *Replay) Why(w io.Writer, name string) error {
	h, ok := p.Find(name)
	if !ok {
		return fmt.Errorf("there is no application %s at line %d: it was removed before, or comes later", name, p.Line)
	}
	s := p.Driver
	fmt.Fprintf(w, "%s at %s: waits for %d containers of %v together\n", name, clock(p.Time), s.Pending(h), s.PendingResource(h))
	for _, a := range s.Asks(h) {
		fmt.Fprintf(w, "  %d of %v on %s (priority %d, request %d)\n", a.Count, a.Capability, a.Name, a.Priority, a.AllocationRequestID)
	}
	for _, r := range s.Explain(h) {
		fmt.Fprintf(w, "  %d of %v: %s", r.Ask.Count, r.Ask.Capability, r.Text)
		if r.Free != "" {
			fmt.Fprintf(w, " (would be freed by: %s)", r.Free)
		}
		fmt.Fprintln(w)
	}
	if names := s.Blacklist(h); len(names) > 0 {
		fmt.Fprintf(w, "  not on %v\n", names)
	}
	_, err := fmt.Fprintf(w, "  %d open nodes have %v free; the largest has %v\n", s.OpenNodes(), s.Headroom(), s.Largest())
	return err
}

// clock prints a time of a log.
func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
