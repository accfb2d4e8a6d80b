// Package recordings shows how the record of the scheduler's events goes, and gives it to administrators.
package recordings

import (
	"io"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"heddle/rm/recording"
	yarnrest "heddle/yarn/rest"
)

// Service answers requests about the record.
type Service struct {
	Recording *recording.Recording // nil: there is none
	// Admin reports whether the caller is an administrator.
	Admin func(*yarnrest.Call) bool
}

// Route adds the paths below a path.
func (s *Service) Route(api *yarnrest.API, base string) {
	api.Handle(base+"/record", yarnrest.Methods{http.MethodGet: {Handle: s.status}})
	api.Handle(base+"/record/events", yarnrest.Methods{http.MethodGet: {Handle: s.events, Gives: []yarnrest.Format{yarnrest.Text, yarnrest.JSON}}})
}

type status struct {
	Recording bool   `yarn:"recording"`
	Path      string `yarn:"path,omitempty"`
	Problem   string `yarn:"problem,omitempty"` // why nothing is recorded now, though it should be
	Gaps      int    `yarn:"gaps"`
	Lost      int64  `yarn:"eventsLost"` // in all gaps
	Bytes     int64  `yarn:"bytes"`      // since this ResourceManager started
	Queued    int    `yarn:"queuedBytes"`
}

// status answers GET /record.
func (s *Service) status(*yarnrest.Call) (yarnrest.Reply, error) {
	if s.Recording == nil {
		return yarnrest.OK("record", yarnrest.Natural, status{}), nil
	}
	w := s.Recording.Writer.Status()
	out := status{Recording: w.Err == nil, Path: s.Recording.Path(), Gaps: w.Gaps, Lost: w.Events, Bytes: w.Bytes, Queued: w.Queued}
	if w.Err != nil {
		out.Problem = w.Err.Error()
	}
	return yarnrest.OK("record", yarnrest.Natural, out), nil
}

// Bounds of what a request gets of the record, in MB.
const (
	defaultMB = 256
	maxMB     = 4096
)

// events answers GET /record/events with the newest files of the record, one after the other, which is a record again.
func (s *Service) events(c *yarnrest.Call) (yarnrest.Reply, error) {
	switch {
	case !s.Admin(c):
		return yarnrest.Reply{}, yarnrest.Forbidden("only administrators (yarn.admin.acl) may read the record of the scheduler's events")
	case s.Recording == nil:
		return yarnrest.Reply{}, yarnrest.NotFound("the scheduler's events are not recorded: set heddle.record.dir on each ResourceManager, and restart it")
	}
	mb := defaultMB
	if text := c.Query().Get("max-mb"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxMB {
			return yarnrest.Reply{}, yarnrest.BadRequest("max-mb=%s: give a number from 1 to %d", text, maxMB)
		}
		mb = n
	}
	files, err := s.Recording.Newest(c.Context(), int64(mb)<<20)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.Reply{Serve: func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "text/plain; charset=utf-8")
		out.Header().Set("Cache-Control", "no-store")
		for _, f := range files {
			if r.Method != http.MethodHead {
				_, err = io.Copy(out, f)
			}
			_ = f.Close()
			if err != nil { // the client is gone
				continue
			}
		}
	}}, nil
}

func desc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("heddle_rm_record_"+name, help, nil, nil)
}

var (
	descFailing = desc("failing", "1 if the scheduler's events should be recorded, and aren't")
	descGaps    = desc("gaps_total", "Gaps of the record since this ResourceManager started")
	descLost    = desc("events_lost_total", "Events of the scheduler that are missing in the record, in all gaps")
	descBytes   = desc("bytes_total", "Bytes that were written to the record")
	descQueued  = desc("queued_bytes", "Bytes of the record that wait for the disk")
)

// Describe implements prometheus.Collector.
func (s *Service) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. Without a record there is nothing to show.
func (s *Service) Collect(ch chan<- prometheus.Metric) {
	if s.Recording == nil {
		return
	}
	w := s.Recording.Writer.Status()
	failing := 0.0
	if w.Err != nil {
		failing = 1
	}
	ch <- prometheus.MustNewConstMetric(descFailing, prometheus.GaugeValue, failing)
	ch <- prometheus.MustNewConstMetric(descGaps, prometheus.CounterValue, float64(w.Gaps))
	ch <- prometheus.MustNewConstMetric(descLost, prometheus.CounterValue, float64(w.Events))
	ch <- prometheus.MustNewConstMetric(descBytes, prometheus.CounterValue, float64(w.Bytes))
	ch <- prometheus.MustNewConstMetric(descQueued, prometheus.GaugeValue, float64(w.Queued))
}
