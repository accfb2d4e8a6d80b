package metrics2

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf/sinks"
	"heddle/yarn/rest/daemon"
)

// Sender sends metrics to sinks. The zero value has none.
type Sender struct {
	sinks []*sink
	beans func() []daemon.Bean
	log   *logrus.Entry
}

type sink struct {
	sinks.Sink
	write  func(records []Record, at time.Time) error
	failed bool // the last time, so that each outage is logged once
}

// NewSender returns a sender for the sinks of a daemon, "resourcemanager" or "nodemanager", in a configuration folder. It logs
// which sinks and settings have no effect; as in Hadoop, these keep no daemon from starting.
func NewSender(dir, name string, beans func() []daemon.Bean, log *logrus.Entry) *Sender {
	all, problems, err := sinks.Of(dir, name)
	if err != nil {
		problems = append(problems, fmt.Sprintf("no sink gets metrics: %v", err))
	}
	for _, p := range problems {
		log.Warn(p)
	}
	s := &Sender{beans: beans, log: log}
	for _, one := range all {
		write, err := writer(one)
		if err != nil {
			log.WithError(err).Warnf("the sink %q of hadoop-metrics2.properties gets no metrics", one.Name)
			continue
		}
		if write != nil {
			s.sinks = append(s.sinks, &sink{Sink: one, write: write})
		}
	}
	return s
}

func writer(s sinks.Sink) (func([]Record, time.Time) error, error) {
	switch s.Kind {
	case sinks.File:
		return fileSink(s.Options["filename"])
	case sinks.Graphite:
		return graphiteSink(s.Options)
	case sinks.StatsD:
		return statsdSink(s.Options)
	case sinks.Ganglia30, sinks.Ganglia31:
		return gangliaSink(s.Options, s.Kind == sinks.Ganglia31)
	}
	return nil, nil
}

// Run sends until ctx ends.
func (s *Sender) Run(ctx context.Context) {
	if len(s.sinks) == 0 {
		return
	}
	due := make([]time.Time, len(s.sinks))
	now := time.Now()
	for i, one := range s.sinks {
		due[i] = now.Add(one.Period)
	}
	for {
		next := due[0]
		for _, at := range due {
			if at.Before(next) {
				next = at
			}
		}
		wait := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		records, now := Records(s.beans()), time.Now()
		for i, one := range s.sinks {
			if due[i].After(now) {
				continue
			}
			s.send(one, records, now)
			for due[i] = due[i].Add(one.Period); !due[i].After(now); {
				due[i] = now.Add(one.Period) // it took longer than a period
			}
		}
	}
}

func (s *Sender) send(one *sink, records []Record, at time.Time) {
	if one.Context != "" {
		var chosen []Record
		for _, r := range records {
			if r.Context == one.Context {
				chosen = append(chosen, r)
			}
		}
		records = chosen
	}
	err := one.write(records, at)
	switch {
	case err != nil && !one.failed:
		s.log.WithError(err).WithField("sink", one.Name).Warn("could not send metrics; trying again after each period")
	case err == nil && one.failed:
		s.log.WithField("sink", one.Name).Info("metrics are sent again")
	}
	one.failed = err != nil
}

// fileSink appends lines to a file, which begins empty; without a name to standard output (Hadoop: FileSink).
func fileSink(name string) (func([]Record, time.Time) error, error) {
	out := os.Stdout
	if name != "" {
		var err error
		if out, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644); err != nil { //nolint:gosec // others read metrics
			return nil, err
		}
	}
	return func(records []Record, at time.Time) error {
		var b strings.Builder
		for i := range records {
			r := &records[i]
			var parts []string
			for _, t := range r.Tags {
				parts = append(parts, t.Name+"="+t.Value)
			}
			for _, m := range r.Metrics {
				parts = append(parts, m.Name+"="+m.Value)
			}
			fmt.Fprintf(&b, "%d %s.%s: %s\n", at.UnixMilli(), r.Context, r.Name, strings.Join(parts, ", "))
		}
		_, err := out.WriteString(b.String())
		return err
	}, nil
}

// sinkTimeout bounds how long a sink may take to accept connections and data.
const sinkTimeout = 5 * time.Second

// graphiteSink sends lines over one TCP connection, which it opens again after an error (Hadoop: GraphiteSink).
func graphiteSink(o map[string]string) (func([]Record, time.Time) error, error) {
	to, err := address(o["server_host"], o["server_port"], "server_host, server_port")
	if err != nil {
		return nil, err
	}
	var c net.Conn
	return func(records []Record, at time.Time) error {
		if c == nil {
			var err error
			if c, err = net.DialTimeout("tcp", to, sinkTimeout); err != nil {
				c = nil
				return err
			}
		}
		if err := c.SetDeadline(time.Now().Add(sinkTimeout)); err != nil {
			return err
		}
		if _, err := c.Write([]byte(graphiteLines(o["metrics_prefix"], records, at))); err != nil {
			c.Close()
			c = nil
			return err
		}
		return nil
	}, nil
}

func graphiteLines(prefix string, records []Record, at time.Time) string {
	var b strings.Builder
	for i := range records {
		r := &records[i]
		path := prefix + "." + r.Context + "." + r.Name
		for _, t := range r.Tags {
			if !t.Null {
				path += "." + t.Name + "=" + t.Value
			}
		}
		for _, m := range r.Metrics {
			fmt.Fprintf(&b, "%s.%s %s %d\n", strings.ReplaceAll(path, "\n", " "), strings.ReplaceAll(m.Name, " ", "."),
				m.Value, at.Unix())
		}
	}
	return b.String()
}

// statsdSink sends a datagram for each metric (Hadoop: StatsDSink).
func statsdSink(o map[string]string) (func([]Record, time.Time) error, error) {
	to, err := address(o["server.host"], o["server.port"], "server.host, server.port")
	if err != nil {
		return nil, err
	}
	return func(records []Record, _ time.Time) error {
		c, err := net.DialTimeout("udp", to, sinkTimeout)
		if err != nil {
			return err
		}
		defer c.Close()
		for i := range records {
			for _, line := range statsdLines(o, &records[i]) {
				if _, err := c.Write([]byte(line)); err != nil {
					return err
				}
			}
		}
		return nil
	}, nil
}

func statsdLines(o map[string]string, r *Record) []string {
	host, service := o["host.name"], o["service.name"]
	for _, t := range r.Tags {
		switch {
		case t.Null:
		case t.Name == "Hostname":
			host = t.Value
		case t.Name == "ProcessName":
			service = t.Value
		}
	}
	prefix := service + "." + r.Context + "." + strings.ReplaceAll(r.Name, ".", "-") + "."
	if host, _, _ = strings.Cut(host, "."); host != "" && o["skip.hostname"] != "true" {
		prefix = host + "." + prefix
	}
	lines := make([]string, len(r.Metrics))
	for i, m := range r.Metrics {
		kind := "g"
		if m.Counter {
			kind = "c"
		}
		lines[i] = prefix + strings.ReplaceAll(m.Name, " ", "_") + ":" + m.Value + "|" + kind
	}
	return lines
}

func address(host, port, keys string) (string, error) {
	if host == "" || port == "" {
		return "", fmt.Errorf("set %s", keys)
	}
	return net.JoinHostPort(host, port), nil
}
