package raft

import (
	"fmt"
	"io"
	"log"

	"github.com/hashicorp/go-hclog"
	"github.com/sirupsen/logrus"
)

// logger passes raft's log lines on to ours. It lowers the level of its chatter by one.
type logger struct {
	hclog.Logger
	out *logrus.Entry
}

func newLogger(out *logrus.Entry) hclog.Logger {
	return &logger{Logger: hclog.NewNullLogger(), out: out.WithField("part", "raft")}
}

func (l *logger) Log(level hclog.Level, msg string, args ...any) {
	switch level {
	case hclog.Error:
		l.Error(msg, args...)
	case hclog.Warn:
		l.Warn(msg, args...)
	default:
		l.Debug(msg, args...)
	}
}

func (l *logger) Trace(msg string, args ...any) { l.with(args).Trace(msg) }
func (l *logger) Debug(msg string, args ...any) { l.with(args).Trace(msg) }
func (l *logger) Info(msg string, args ...any)  { l.with(args).Debug(msg) }
func (l *logger) Warn(msg string, args ...any)  { l.with(args).Info(msg) }
func (l *logger) Error(msg string, args ...any) { l.with(args).Warn(msg) }

func (l *logger) With(args ...any) hclog.Logger {
	return &logger{Logger: l.Logger, out: l.with(args)}
}
func (l *logger) Named(string) hclog.Logger      { return l }
func (l *logger) ResetNamed(string) hclog.Logger { return l }

func (l *logger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(io.Discard, "", 0)
}

// with turns raft's alternating keys and values into fields.
func (l *logger) with(args []any) *logrus.Entry {
	fields := logrus.Fields{}
	for i := 0; i+1 < len(args); i += 2 {
		v := args[i+1]
		if f, ok := v.(hclog.Format); ok && len(f) > 0 {
			v = fmt.Sprintf(fmt.Sprint(f[0]), f[1:]...)
		}
		fields[fmt.Sprint(args[i])] = v
	}
	return l.out.WithFields(fields)
}
